import pytest

pytest.importorskip("PIL", reason="reading images needs pillow")
from PIL import Image


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """A cache of its own for each test, outside the folder of the images."""
    folder = tmp_path_factory.mktemp("cache") / "images"
    monkeypatch.setenv("FAIRALM_CACHE", str(folder))
    monkeypatch.delenv("FAIRALM_DATA", raising=False)
    return folder


@pytest.fixture
def paint(tmp_path):
    """Write an image of one colour; returns its path."""

    def write(name, colour=(200, 100, 50), size=(40, 40), mode="RGB", **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new(mode, size, colour).save(path, **options)
        return path

    return write


@pytest.fixture
def faces(tmp_path, paint):
    """Twelve images whose red channel is their number, and a table of them."""
    rows = ["image,over30,gender,part"]
    for i in range(12):
        paint(f"images/{i}.png", (i, 0, 0))
        part = ("train", "val", "test")[i // 4]
        rows.append(f"images/{i}.png,{'no' if i % 2 else 'yes'},{'F' if i % 3 else 'M'},{part}")
    path = tmp_path / "faces.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
