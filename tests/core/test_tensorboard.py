"""torch.utils.tensorboard: what SummaryWriter adds is what TensorBoard and torch's writer have."""
import io
import subprocess
import sys
import warnings

import numpy as np
import pytest
from PIL import Image

import mindtorch as torch

with warnings.catch_warnings():             # of the packages that tensorboard needs
    warnings.simplefilter("ignore")
    import tensorboard  # noqa: F401  (the tests need it)
    import torch.utils.tensorboard as theirs
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    import mindtorch.utils.tensorboard as ours


def events(folder):
    found = EventAccumulator(str(folder), size_guidance={"images": 0, "histograms": 0, "tensors": 0})
    found.Reload()
    return found


def written(library, folder, add):
    with library.SummaryWriter(folder) as writer:
        add(writer)
    return events(folder)


def both(tmp_path, add):
    return written(ours, tmp_path / "ours", add), written(theirs, tmp_path / "theirs", add)


def test_scalars(tmp_path, device):
    with ours.SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1), device=device, requires_grad=True), step)
        writer.add_scalar("rate", torch.tensor([0.5], dtype=torch.bfloat16, device=device), 7)
        writer.add_scalars("both", {"a": 1, "b": np.float32(2)}, 1)
    found = events(tmp_path)
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [
        (0, 1.0), (1, 0.5), (2, pytest.approx(1 / 3))]
    assert [(event.step, event.value) for event in found.Scalars("rate")] == [(7, 0.5)]
    assert [event.value for event in events(tmp_path / "both_b").Scalars("both")] == [2.0]
    with pytest.raises(AssertionError, match="scalar should be 0D"):
        writer.add_scalar("two", torch.ones(2))


@pytest.mark.parametrize("values", [[0.0], [1.0, -2.0, 3.5, 0.0], list(range(100))])
@pytest.mark.parametrize("options", [{}, {"bins": "auto"}, {"bins": 8}])
def test_histograms_are_those_of_torch(tmp_path, values, options):
    array = np.asarray(values, dtype=np.float64)
    mine, other = (found.Histograms("h")[0].histogram_value
                   for found in both(tmp_path, lambda writer: writer.add_histogram("h", array, 3, **options)))
    for name in ("min", "max", "num", "sum", "sum_squares"):
        assert getattr(mine, name) == pytest.approx(getattr(other, name)), name
    assert mine.bucket == pytest.approx(other.bucket)
    assert mine.bucket_limit == pytest.approx(other.bucket_limit)


@pytest.mark.parametrize(("shape", "dataformats"), [
    ((3, 4, 5), "CHW"), ((4, 5, 3), "HWC"), ((4, 5), "HW"), ((1, 4, 5), "CHW"), ((2, 3, 4, 5), "NCHW"),
    ((9, 4, 5, 1), "NHWC")])
def test_images_are_those_of_torch(tmp_path, shape, dataformats):
    array = np.random.default_rng(0).random(shape, dtype=np.float32)
    mine, other = (found.Images("i")[0] for found in both(
        tmp_path, lambda writer: writer.add_image("i", array, 1, dataformats=dataformats)))
    assert (mine.width, mine.height) == (other.width, other.height)
    assert mine.encoded_image_string == other.encoded_image_string


def test_texts_hyperparameters_layouts_and_purges(tmp_path):
    def add(writer):
        writer.add_text("note", "**bold**", 2)
        writer.add_custom_scalars({"loss": {"both": ["Multiline", ["a", "b"]], "m": ["Margin", ["a", "b", "c"]]}})
        writer.add_hparams({"rate": 0.1, "bold": True, "name": "x"}, {"accuracy": 0.9}, run_name="run")
    mine, other = both(tmp_path, add)
    for tag in ("note/text_summary", "custom_scalars__config__"):
        assert mine.Tensors(tag)[0].tensor_proto == other.Tensors(tag)[0].tensor_proto
        assert mine.SummaryMetadata(tag).plugin_data.plugin_name == other.SummaryMetadata(tag).plugin_data.plugin_name
    assert events(tmp_path / "ours" / "run").Scalars("accuracy")[0].value == pytest.approx(0.9)
    assert "_hparams_/session_start_info" in events(tmp_path / "ours" / "run").summary_metadata
    with ours.SummaryWriter(tmp_path / "purged") as writer:
        for step in range(4):
            writer.add_scalar("loss", step, step)
    with ours.SummaryWriter(tmp_path / "purged", purge_step=2, filename_suffix=".later") as writer:
        writer.add_scalar("loss", 9, 2)
    assert [event.value for event in events(tmp_path / "purged").Scalars("loss")] == [0, 1, 9]


def test_a_writer_may_be_closed_and_used_again(tmp_path):
    writer = ours.SummaryWriter(tmp_path)
    writer.add_scalar("a", 1, 0)
    writer.close()
    writer.add_scalar("a", 2, 1)
    writer.close()
    assert [event.value for event in events(tmp_path).Scalars("a")] == [1, 2]
    assert writer.get_logdir() == str(tmp_path)


def test_without_the_package_the_error_says_what_to_install():
    code = ("import sys; sys.modules['tensorboard'] = None\n"
            "try:\n    import mindtorch.utils.tensorboard\nexcept ImportError as error:\n    print(error)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "torch.utils.tensorboard needs the package tensorboard: pip install tensorboard\n"


def plain(value):
    """A value of a summary without the time."""
    return value.tag, value.WhichOneof("value"), tuple(value.tensor.float_val), tuple(value.tensor.int_val), [
        size.size for size in value.tensor.tensor_shape.dim]


def summaries(folder):
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event
    found = []
    for file in folder.glob("events*"):
        for raw in RawEventFileLoader(str(file)).Load():
            event = Event.FromString(raw)
            found += [(event.step, value) for value in event.summary.value]
    return found


def both_summaries(tmp_path, add):
    both(tmp_path, add)
    return summaries(tmp_path / "ours"), summaries(tmp_path / "theirs")


@pytest.mark.parametrize("options", [{}, {"num_thresholds": 5}, {"weights": np.array([1.0, 2.0, 0.5, 3.0])}])
def test_curves_of_precision_are_those_of_torch(tmp_path, options):
    labels, given = np.array([0, 1, 1, 0]), np.array([0.1, 0.8, 0.6, 0.7])
    mine, other = both_summaries(tmp_path, lambda writer: writer.add_pr_curve("curve", labels, given, 3, **options))
    assert [step for step, _ in mine] == [step for step, _ in other] == [3]
    for (_, one), (_, two) in zip(mine, other, strict=True):
        assert list(one.tensor.float_val) == pytest.approx(list(two.tensor.float_val), abs=1e-6)
        assert one.metadata.plugin_data == two.metadata.plugin_data


def test_counted_curves_and_histograms(tmp_path):
    def add(writer):
        writer.add_pr_curve_raw("curve", *np.arange(30.0).reshape(6, 5), 1, num_thresholds=5)
        writer.add_histogram_raw("histogram", 0.0, 1.0, 4, 2.0, 1.5, [0.5, 1.0], [1, 3], 2)
    mine, other = both_summaries(tmp_path, add)
    assert [(step, plain(value)) for step, value in mine] == [(step, plain(value)) for step, value in other]
    assert mine[1][1].histo == other[1][1].histo


def test_sounds_and_meshes_are_those_of_torch(tmp_path):
    vertices = np.arange(9, dtype=np.float32).reshape(1, 3, 3)

    def add(writer):
        writer.add_audio("sound", np.array([[0.0, 0.5, -1.0, 2.0]]), 1, sample_rate=8000)
        writer.add_mesh("mesh", vertices, colors=np.full((1, 3, 3), 7, np.uint8), faces=np.array([[[0, 1, 2]]]),
                        config_dict={"a": 1}, global_step=4)
    mine, other = both_summaries(tmp_path, add)
    assert [(step, plain(value)) for step, value in mine] == [(step, plain(value)) for step, value in other]
    assert mine[0][1].audio == other[0][1].audio
    assert [value.metadata.plugin_data for _, value in mine] == [value.metadata.plugin_data for _, value in other]


def test_embeddings_are_those_of_torch(tmp_path):
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    for library, tensors, name in ((ours, torch, "ours"), (theirs, __import__("torch"), "theirs")):
        with library.SummaryWriter(tmp_path / name) as writer:
            points, images = tensors.from_numpy(rows), tensors.from_numpy(np.full((3, 1, 2, 2), 0.5, np.float32))
            writer.add_embedding(points, metadata=["a", "b", "c"], label_img=images, global_step=2, tag="t")
            writer.add_embedding(points, metadata=[["a", 1], ["b", 2], ["c", 3]], metadata_header=["x", "y"])
    for file in ("projector_config.pbtxt", "00002/t/tensors.tsv", "00002/t/metadata.tsv", "00000/default/metadata.tsv"):
        assert (tmp_path / "ours" / file).read_text() == (tmp_path / "theirs" / file).read_text(), file
    from PIL import Image
    pixels = [np.asarray(Image.open(tmp_path / name / "00002/t/sprite.png")) for name in ("ours", "theirs")]
    assert np.array_equal(*pixels)


def test_a_graph_has_the_operators(tmp_path, device):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()).to(device)
    with ours.SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torch.ones(4, 2, device=device))
    graph = events(tmp_path).Graph()
    found = {node.op: node for node in graph.node}
    assert {"IO Node", "aten::addmm", "aten::relu"} <= set(found)
    assert [size.size for size in found["aten::addmm"].attr["_output_shapes"].list.shape[0].dim] == [4, 3]


def test_custom_charts(tmp_path):
    def add(writer):
        writer.add_custom_scalars_multilinechart(["a", "b"])
        writer.add_custom_scalars_marginchart(["a", "b", "c"], "category", "title")
    mine, other = both_summaries(tmp_path, add)
    assert [value.tensor.string_val for _, value in mine] == [value.tensor.string_val for _, value in other]


@pytest.mark.parametrize("options", [{}, {"labels": ["cat", ""]}, {"labels": "one"}, {"rescale": 2},
                                     {"dataformats": "HWC"}])
def test_images_with_boxes_are_those_of_torch(tmp_path, options):
    image = np.random.default_rng(3).random((40, 32, 3) if options.get("dataformats") else (3, 40, 32),
                                            dtype=np.float32)
    boxes = np.asarray([[2, 3, 20, 30], [10, 5, 31, 39]])
    mine, other = (found.Images("i")[0] for found in both(
        tmp_path, lambda writer: writer.add_image_with_boxes("i", image, boxes, 1, **options)))
    assert (mine.width, mine.height) == (other.width, other.height)
    pixels = [np.asarray(Image.open(io.BytesIO(each.encoded_image_string))) for each in (mine, other)]
    assert np.array_equal(*pixels)


@pytest.mark.parametrize("count", [1, 3, 17])
def test_frames_of_videos_are_those_of_torch(tmp_path, count, device):
    """Torch writes them by moviepy. Its frames are compared, within what the 256 colours of a GIF can hold."""
    from torch.utils.tensorboard.summary import _prepare_video
    bright = np.linspace(0.1, 1, count * 3, dtype=np.float32).reshape(count, 3, 1, 1, 1)
    video = np.ascontiguousarray(np.broadcast_to(bright, (count, 3, 1, 4, 4)))
    with ours.SummaryWriter(tmp_path) as writer:
        writer.add_video("v", torch.tensor(video, device=device), 2, fps=10)
    found = events(tmp_path).Images("v")[0]
    picture = Image.open(io.BytesIO(found.encoded_image_string))
    expected = (_prepare_video(video) * 255).astype(np.uint8)
    assert (picture.n_frames, picture.info["duration"]) == (3, 100)
    assert (found.height, found.width) == expected.shape[1:3]
    for number in range(3):
        picture.seek(number)
        frame = np.asarray(picture.convert("RGB")).astype(int)
        assert abs(frame - expected[number]).max() <= 4
