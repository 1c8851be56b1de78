"""torch.utils.tensorboard: what SummaryWriter adds is what TensorBoard and torch's writer have."""
import subprocess
import sys
import warnings

import numpy as np
import pytest

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
