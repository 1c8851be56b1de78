"""Writes event files for TensorBoard: scalars, histograms, images, sounds, embeddings, graphs, hyperparameters."""
from __future__ import annotations

import csv
import io
import json
import math
import os
import socket
import time
import wave
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

try:
    from google.protobuf import text_format
    from tensorboard.compat.proto import event_pb2, graph_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
    from tensorboard.plugins.custom_scalar import layout_pb2
    from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
    from tensorboard.plugins.hparams import metadata as hparams_metadata
    from tensorboard.plugins.mesh import metadata as mesh_metadata
    from tensorboard.plugins.mesh import plugin_data_pb2 as mesh_data_pb2
    from tensorboard.plugins.pr_curve import metadata as pr_curve_metadata
    from tensorboard.plugins.projector import projector_config_pb2
    from tensorboard.plugins.text import metadata as text_metadata
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ImportError:
    raise ImportError("torch.utils.tensorboard needs the package tensorboard: pip install tensorboard") from None

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

__all__ = ["FileWriter", "SummaryWriter"]


def _array(values: Any) -> Any:
    """An array of a tensor of any device, of an array or of numbers."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if values.is_floating_point() else values).numpy()
    return numpy.asarray(values)


def _value(tag: str, **content: Any) -> Any:
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, **content)])


def _scalar(tag: str, value: Any) -> Any:
    number = _array(value)
    assert number.squeeze().ndim == 0, "scalar should be 0D"
    return _value(tag, simple_value=float(number.squeeze()))


def _histogram(tag: str, values: Any, bins: Any, max_bins: int | None) -> Any:
    values = _array(values).astype(numpy.float64).reshape(-1)
    if values.size == 0:
        raise ValueError("The input has no element.")
    if bins == "tensorflow":         # exponential, as TensorBoard's own
        positive = 1e-12 * 1.1 ** numpy.arange(776)
        bins = numpy.concatenate([-positive[::-1], [0.0], positive])
    counts, limits = numpy.histogram(values, bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = numpy.add.reduceat(counts, numpy.arange(0, len(counts), step))
        limits = numpy.append(limits[:-1:step], limits[-1])
    filled = numpy.flatnonzero(counts)
    shown = slice(filled[0], filled[-1] + 2)         # with an empty bucket before what is there
    return _value(tag, histo=summary_pb2.HistogramProto(
        min=values.min(), max=values.max(), num=len(values), sum=values.sum(), sum_squares=values @ values,
        bucket_limit=limits[shown].tolist(), bucket=[0, *counts][shown]))


def _grid(array: Any, columns: int, rows: int | None = None) -> Any:
    """Images (N, H, W, C) side by side, as one."""
    rows = rows or -(-len(array) // columns)
    count, height, width, channels = array.shape
    grid = numpy.zeros((rows * columns, height, width, channels), array.dtype)
    grid[:count] = array
    grid = grid.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, channels)


def _picture(array: Any) -> Any:
    """Pillow's image of an array (H, W, C) of elements from 0 to 1, or of uint8."""
    from PIL import Image
    if array.dtype != numpy.uint8:
        array = numpy.clip(array * 255, 0, 255).astype(numpy.uint8)
    if array.shape[2] == 1:
        array = numpy.repeat(array, 3, axis=2)
    return Image.fromarray(array)


def _file(picture: Any, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, format=kind, **options)
    return file.getvalue()


def _sprite(images: Any) -> bytes:
    """The file of a square of images (N, C, H, W)."""
    return _file(_picture(_grid(numpy.moveaxis(images, 1, -1), math.ceil(math.sqrt(len(images))))))


def _image_message(tag: str, picture: Any, content: bytes) -> Any:
    return _value(tag, image=summary_pb2.Summary.Image(height=picture.height, width=picture.width,
                                                       colorspace=len(picture.getbands()),
                                                       encoded_image_string=content))


def _picture_of(image: Any, dataformats: str) -> Any:
    """Pillow's picture of elements from 0 to 1, or of uint8; `dataformats` names the dimensions: CHW, HWC, HW, NCHW."""
    array = _array(image)
    names = dataformats.upper()
    assert array.ndim == len(names), (
        f"size of input tensor and input format are different.         tensor shape: {array.shape}, input_format: "
        f"{dataformats}")
    if "N" in names:                                    # side by side, in a grid of eight a row
        array = numpy.moveaxis(array, [names.index(letter) for letter in "NHWC"], range(4))
        array = _grid(array, min(8, len(array)))
    elif "C" in names:
        array = numpy.moveaxis(array, [names.index(letter) for letter in "HWC"], range(3))
    else:
        array = numpy.moveaxis(array, [names.index(letter) for letter in "HW"], range(2))[..., None]
    return _picture(array)


def _mark_boxes(picture: Any, boxes: Any, labels: list[str] | None) -> None:
    """Draws boxes (xmin, ymin, xmax, ymax) on a picture in red, each with its label in the lower left corner."""
    from PIL import ImageDraw, ImageFont
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default()
    for number, (left, top, right, bottom) in enumerate(boxes.tolist()):
        draw.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
        if labels is not None and labels[number]:
            box = font.getbbox(labels[number])
            width, height = box[2] - box[0], box[3] - box[1]
            margin = math.ceil(0.05 * height)
            draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
            draw.text((left + margin, bottom - height - margin), labels[number], fill="black", font=font)


def _video(tag: str, videos: Any, fps: float) -> Any:
    """Videos (N, T, C, H, W) beside each other, in a grid whose numbers of rows and columns are powers of two."""
    array = numpy.moveaxis(_array(videos), 2, -1)
    bits = (len(array) - 1).bit_length()
    rows = 1 << ((len(array).bit_length() - 1) // 2)
    pictures = [_picture(_grid(array[:, step], (1 << bits) // rows, rows)) for step in range(array.shape[1])]
    content = _file(pictures[0], "GIF", save_all=True, append_images=pictures[1:], duration=1000 / fps, loop=0)
    return _image_message(tag, pictures[0], content)


def _figure(figure: Any) -> Any:
    """The pixels of a figure of matplotlib, as HWC."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return numpy.asarray(canvas.buffer_rgba())[..., :3]


def _tensor(array: Any) -> Any:
    """The message of an array, as 32-bit floats."""
    size = tensor_shape_pb2.TensorShapeProto.Dim
    return tensor_pb2.TensorProto(dtype="DT_FLOAT", float_val=array.astype(numpy.float32).reshape(-1).tolist(),
                                  tensor_shape=tensor_shape_pb2.TensorShapeProto(
                                      dim=[size(size=each) for each in array.shape]))


def _strings(*values: bytes) -> Any:
    """The message of byte strings."""
    size = tensor_shape_pb2.TensorShapeProto.Dim(size=len(values))
    return tensor_pb2.TensorProto(dtype="DT_STRING", string_val=values,
                                  tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=[size]))


def _sound(tag: str, sound: Any, sample_rate: int) -> Any:
    """A WAV file of one channel of elements from -1 to 1."""
    array = _array(sound).squeeze()
    assert array.ndim == 1, "input tensor should be 1 dimensional."
    file = io.BytesIO()
    with wave.open(file, "wb") as content:
        content.setnchannels(1)
        content.setsampwidth(2)
        content.setframerate(sample_rate)
        content.writeframes((numpy.clip(array, -1, 1) * numpy.iinfo("<i2").max).astype("<i2").tobytes())
    return _value(tag, audio=summary_pb2.Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=len(array), content_type="audio/wav",
        encoded_audio_string=file.getvalue()))


def _pr_curve_counts(labels: Any, predictions: Any, count: int, weights: Any) -> Any:
    """Rows of true and false positives, true and false negatives, precision and recall; a column is a threshold."""
    labels, predictions = _array(labels).reshape(-1).astype(bool), _array(predictions).reshape(-1)
    weights = numpy.broadcast_to(1.0 if weights is None else _array(weights).reshape(-1), labels.shape)
    places = numpy.floor(predictions * (count - 1)).astype(int)
    # How much lies at a threshold or above it.
    true, false = (numpy.bincount(places[chosen], weights[chosen], count)[::-1].cumsum()[::-1]
                   for chosen in (labels, ~labels))
    least = 1e-7
    return numpy.stack([true, false, false[0] - false, true[0] - true, true / numpy.maximum(least, true + false),
                        true / max(least, true[0])])


def _pr_curve(tag: str, rows: Any, count: int) -> Any:
    metadata = pr_curve_metadata.create_summary_metadata(display_name=tag, description="", num_thresholds=count)
    return _value(tag, metadata=metadata, tensor=_tensor(rows))


def _mesh(tag: str, parts: Mapping[int, Any], config: Any) -> Any:
    """A summary with a value for each part that is there: the vertices, faces, colours of a batch of meshes."""
    arrays = {kind: _array(part) for kind, part in parts.items() if part is not None}
    components = mesh_metadata.get_components_bitmask(list(arrays))
    values = []
    for kind, array in arrays.items():
        metadata = mesh_metadata.create_summary_metadata(tag, "", kind, components, array.shape,
                                                         json_config=json.dumps(config or {}, sort_keys=True))
        values.append(summary_pb2.Summary.Value(tag=mesh_metadata.get_instance_name(tag, kind), tensor=_tensor(array),
                                                metadata=metadata))
    return summary_pb2.Summary(value=values)


def _graph(model: Any, inputs: Any) -> Any:
    """The operators that a call of the model runs; each is named after the operator and what came before it."""
    from mindtorch.jit import trace
    graph, found = graph_pb2.GraphDef(), {}
    for node in trace(model, inputs).traced.graph.nodes:
        place = {"placeholder": "input/", "output": "output/"}.get(node.op, "")
        kind = {"placeholder": "IO Node", "output": "IO Node", "get_attr": "prim::GetAttr"}.get(
            node.op, str(node.target).removesuffix(".default").replace(".", "::", 1))
        name = str(node.target).replace(".", "/") if node.op == "get_attr" else f"{place}{node.name}"
        found[node] = name
        message = graph.node.add(name=name, op=kind, input=[found[each] for each in node.all_input_nodes])
        value = node.meta.get("val")
        if hasattr(value, "shape"):
            size = tensor_shape_pb2.TensorShapeProto.Dim
            message.attr["_output_shapes"].list.shape.add(dim=[size(size=each) for each in value.shape])
    graph.versions.producer = 22
    return graph


def _text(tag: str, text: str) -> Any:
    metadata = text_metadata.create_summary_metadata(display_name="", description="")
    return _value(f"{tag}/text_summary", metadata=summary_pb2.SummaryMetadata(
        plugin_data=metadata.plugin_data), tensor=_strings(text.encode()))


def _hparams(values: Mapping[str, Any], metrics: Any, domains: Mapping[str, list[Any]]) -> list[Any]:
    """The three events of a run: the experiment's columns, the run's values, and that it succeeded."""
    start, columns = plugin_data_pb2.SessionStartInfo(), []
    for name, value in values.items():
        kind = "bool" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
        setattr(start.hparams[name], f"{kind}_value", value)
        number = {"bool": api_pb2.DATA_TYPE_BOOL, "string": api_pb2.DATA_TYPE_STRING,
                  "number": api_pb2.DATA_TYPE_FLOAT64}[kind]
        column = api_pb2.HParamInfo(name=name, type=number)
        if name in domains:
            column.domain_discrete.extend(domains[name])
        columns.append(column)
    named = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metrics]
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_SUCCESS)
    contents = ((hparams_metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=columns,
                                                                                   metric_infos=named)}),
                (hparams_metadata.SESSION_START_INFO_TAG, {"session_start_info": start}),
                (hparams_metadata.SESSION_END_INFO_TAG, {"session_end_info": end}))
    return [_value(tag, metadata=hparams_metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(**content)))
            for tag, content in contents]


class FileWriter:
    """Adds events to a file in a folder, in a thread of its own.

    Arguments:
        log_dir: the folder; None means one of the present time below "runs"
        max_queue: how many records wait before they are written
        flush_secs: the seconds between two writes
        filename_suffix: what is added to the files' names

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> writer = torch.utils.tensorboard.FileWriter(folder.name)
        >>> writer.close()
        >>> len(os.listdir(folder.name))
        1
        >>> folder.cleanup()
    """

    def __init__(self, log_dir: str, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> Any:
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        self.event_writer.flush()

    def close(self) -> None:
        self.event_writer.close()


class SummaryWriter:
    """Writes what a training run adds to an event file in `log_dir`, by default runs/<time>_<host><comment>.

    Values may be tensors of any device, arrays or numbers; `global_step` is where they stand on TensorBoard's axis.

    Arguments:
        log_dir: the folder; None means one of the present time below "runs"
        comment: what is added to the name of that folder
        purge_step: the step from which on earlier records are hidden
        max_queue: how many records wait before they are written
        flush_secs: the seconds between two writes
        filename_suffix: what is added to the files' names

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with torch.utils.tensorboard.SummaryWriter(folder.name) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", torch.tensor(1.0 / (1 + step)), step)
        >>> len(os.listdir(folder.name))
        1
        >>> folder.cleanup()
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None = None, comment: str = "",
                 purge_step: int | None = None, max_queue: int = 10, flush_secs: int = 120,
                 filename_suffix: str = "") -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = os.fspath(log_dir), purge_step
        self._options = (max_queue, flush_secs, filename_suffix)
        self.all_writers: dict[str, FileWriter] = {}
        self._embeddings = projector_config_pb2.ProjectorConfig()
        self._writer(self.log_dir)
        if purge_step is not None:          # TensorBoard drops what an earlier run wrote from there on
            self.file_writer.add_event(event_pb2.Event(file_version="brain.Event:2"), purge_step)
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self.file_writer.add_event(event_pb2.Event(session_log=start), purge_step)

    def _writer(self, folder: str) -> FileWriter:
        if folder not in self.all_writers:
            self.all_writers[folder] = FileWriter(folder, *self._options)
        return self.all_writers[folder]

    @property
    def file_writer(self) -> FileWriter:
        return self._writer(self.log_dir)

    def get_logdir(self) -> str:
        """The folder of the event file."""
        return self.log_dir

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:
        """A number."""
        self.file_writer.add_summary(_scalar(tag, scalar_value), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None,
                    walltime: float | None = None) -> None:
        """Numbers that stand in one plot; each has a folder of its own."""
        for name, value in tag_scalar_dict.items():
            writer = self._writer(os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{name}"))
            writer.add_summary(_scalar(main_tag, value), global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:
        """How the elements of a tensor are distributed."""
        self.file_writer.add_summary(_histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag: str, min: float, max: float, num: int, sum: float, sum_squares: float,
                          bucket_limits: Any, bucket_counts: Any, global_step: int | None = None,
                          walltime: float | None = None) -> None:
        """A histogram whose buckets the caller has counted; bucket_limits are the right edges."""
        limits, counts = (_array(each).reshape(-1).tolist() for each in (bucket_limits, bucket_counts))
        if len(limits) != len(counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        self.file_writer.add_summary(_value(tag, histo=summary_pb2.HistogramProto(
            min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=limits, bucket=counts)),
            global_step, walltime)

    def add_image(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                  dataformats: str = "CHW") -> None:
        """An image of elements from 0 to 1, or of uint8. Needs Pillow."""
        picture = _picture_of(img_tensor, dataformats)
        self.file_writer.add_summary(_image_message(tag, picture, _file(picture)), global_step, walltime)

    def add_image_with_boxes(self, tag: str, img_tensor: Any, box_tensor: Any, global_step: int | None = None,
                             walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW",
                             labels: list[str] | str | None = None) -> None:
        """An image with boxes (N, 4) of xmin, ymin, xmax, ymax, and a label for each. Needs Pillow.

        rescale: how many times as high and wide as the elements the image is.
        """
        picture, boxes = _picture_of(img_tensor, dataformats), _array(box_tensor)
        labels = [labels] if isinstance(labels, str) else labels
        _mark_boxes(picture, boxes, labels if labels is not None and len(labels) == len(boxes) else None)
        from PIL import Image
        scaled = picture.resize((int(picture.width * rescale), int(picture.height * rescale)),
                                Image.Resampling.LANCZOS)
        self.file_writer.add_summary(_image_message(tag, picture, _file(scaled)), global_step, walltime)

    def add_video(self, tag: str, vid_tensor: Any, global_step: int | None = None, fps: float = 4,
                  walltime: float | None = None) -> None:
        """Videos (N, T, C, H, W) of elements from 0 to 1, or of uint8, as one animation. Needs Pillow."""
        self.file_writer.add_summary(_video(tag, vid_tensor, fps), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                   dataformats: str = "NCHW") -> None:
        """A batch of images, in a grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(self, tag: str, figure: Any, global_step: int | None = None, close: bool = True,
                   walltime: float | None = None) -> None:
        """A figure of matplotlib, or a list of them. Needs Pillow."""
        figures = figure if isinstance(figure, list) else [figure]
        pixels = numpy.stack([_figure(one) for one in figures])
        self.add_image(tag, pixels, global_step, walltime, "NHWC")
        if close:
            from matplotlib import pyplot
            for one in figures:
                pyplot.close(one)

    def add_audio(self, tag: str, snd_tensor: Any, global_step: int | None = None, sample_rate: int = 44100,
                  walltime: float | None = None) -> None:
        """A sound of one channel, of elements from -1 to 1."""
        self.file_writer.add_summary(_sound(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None,
                 walltime: float | None = None) -> None:
        """A text in Markdown."""
        self.file_writer.add_summary(_text(tag, text_string), global_step, walltime)

    def add_pr_curve(self, tag: str, labels: Any, predictions: Any, global_step: int | None = None,
                     num_thresholds: int = 127, weights: Any = None, walltime: float | None = None) -> None:
        """Precision and recall by threshold, of labels (0 or 1) and of the probabilities that a model gave them."""
        count = min(num_thresholds, 127)
        rows = _pr_curve_counts(labels, predictions, count, weights)
        self.file_writer.add_summary(_pr_curve(tag, rows, count), global_step, walltime)

    def add_pr_curve_raw(self, tag: str, true_positive_counts: Any, false_positive_counts: Any,
                         true_negative_counts: Any, false_negative_counts: Any, precision: Any, recall: Any,
                         global_step: int | None = None, num_thresholds: int = 127, weights: Any = None,
                         walltime: float | None = None) -> None:
        """Precision and recall by threshold, which the caller has counted."""
        rows = numpy.stack([_array(each) for each in (true_positive_counts, false_positive_counts,
                                                      true_negative_counts, false_negative_counts, precision, recall)])
        self.file_writer.add_summary(_pr_curve(tag, rows, min(num_thresholds, 127)), global_step, walltime)

    def add_mesh(self, tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: Any = None,
                 global_step: int | None = None, walltime: float | None = None) -> None:
        """A batch of meshes or point clouds: vertices (N, V, 3), colours (N, V, 3) of 0 to 255, faces (N, F, 3)."""
        kinds = mesh_data_pb2.MeshPluginData
        parts = {kinds.VERTEX: vertices, kinds.FACE: faces, kinds.COLOR: colors}
        self.file_writer.add_summary(_mesh(tag, parts, config_dict), global_step, walltime)

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False,
                  use_strict_trace: bool = True) -> None:
        """The operators that the model runs when it is called with input_to_model, a tensor or a tuple of them."""
        graph = _graph(model, input_to_model)
        if verbose:
            print(graph)
        self.file_writer.add_event(event_pb2.Event(graph_def=graph.SerializeToString()))

    def add_embedding(self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: int | None = None,
                      tag: str = "default", metadata_header: Any = None) -> None:
        """The rows of a matrix as points, with a label and an image (N, C, H, W) for each."""
        place = f"{global_step or 0:05}"
        folder = Path(self.log_dir, place, tag)
        folder.mkdir(parents=True, exist_ok=True)
        array, entry = _array(mat), projector_config_pb2.EmbeddingInfo(tensor_name=f"{tag}:{place}")
        assert array.ndim == 2, "mat should be 2D, where mat.size(0) is the number of data points"
        if metadata is not None:
            assert len(array) == len(metadata), "#labels should equal with #data points"
            rows = metadata if metadata_header is None else [metadata_header, *metadata]
            with (folder / "metadata.tsv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, delimiter="\t", lineterminator="\n").writerows(
                    row if isinstance(row, (list, tuple)) else [row] for row in rows)
            entry.metadata_path = f"{place}/{tag}/metadata.tsv"
        if label_img is not None:
            assert len(array) == len(label_img), "#images should equal with #data points"
            (folder / "sprite.png").write_bytes(_sprite(_array(label_img)))
            entry.sprite.image_path = f"{place}/{tag}/sprite.png"
            entry.sprite.single_image_dim.extend([label_img.shape[3], label_img.shape[2]])
        with (folder / "tensors.tsv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows(array.tolist())
        entry.tensor_path = f"{place}/{tag}/tensors.tsv"
        self._embeddings.embeddings.append(entry)
        Path(self.log_dir, "projector_config.pbtxt").write_text(text_format.MessageToString(self._embeddings),
                                                                encoding="utf-8")

    def add_custom_scalars_multilinechart(self, tags: list[str], category: str = "default",
                                          title: str = "untitled") -> None:
        """One plot of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: list[str], category: str = "default",
                                       title: str = "untitled") -> None:
        """One plot of three scalars: a value, and the lower and upper bound of a margin around it."""
        assert len(tags) == 3
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Any]]) -> None:
        """Which scalars stand in one plot: {category: {title: ["Multiline" or "Margin", tags]}}."""
        categories = []
        for category, charts in layout.items():
            made = []
            for title, (kind, tags) in charts.items():
                if kind == "Margin":
                    series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                    chart = layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))
                else:
                    chart = layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
                made.append(chart)
            categories.append(layout_pb2.Category(title=category, chart=made))
        tensor = tensor_pb2.TensorProto(dtype="DT_STRING", tensor_shape=tensor_shape_pb2.TensorShapeProto(),
                                        string_val=[layout_pb2.Layout(category=categories).SerializeToString()])
        plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="custom_scalars")
        self.file_writer.add_summary(_value("custom_scalars__config__", tensor=tensor,
                                            metadata=summary_pb2.SummaryMetadata(plugin_data=plugin)))

    def add_hparams(self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any],
                    hparam_domain_discrete: Mapping[str, list[Any]] | None = None, run_name: str | None = None,
                    global_step: int | None = None) -> None:
        """The hyperparameters of a run and what came of them, in a folder of their own."""
        for value in hparam_dict.values():
            if not isinstance(value, (bool, int, float, str)) and _array(value).ndim:
                raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        plain = {name: value if isinstance(value, (bool, int, float, str)) else _array(value).item()
                 for name, value in hparam_dict.items()}
        writer = self._writer(os.path.join(self.log_dir, run_name or str(time.time())))
        for summary in _hparams(plain, metric_dict, hparam_domain_discrete or {}):
            writer.add_summary(summary)
        for name, value in metric_dict.items():
            writer.add_summary(_scalar(name, value), global_step)

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """The elements of a tensor."""
        content = _tensor(_array(tensor))
        plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="tensor", content=json.dumps({}).encode())
        self.file_writer.add_summary(_value(tag, tensor=content, metadata=summary_pb2.SummaryMetadata(
            plugin_data=plugin)), global_step, walltime)

    def flush(self) -> None:
        """Write what is waiting."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self) -> None:
        """Write what is waiting and close the files. A later call of add_... opens a new file."""
        for writer in self.all_writers.values():
            writer.flush()
            writer.close()
        self.all_writers.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()
