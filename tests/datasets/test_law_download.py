"""The download against a real server on this machine."""

import functools
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fairalm.datasets import _law, load, load_law
from fairalm.datasets._files import find
from fairalm.exceptions import InputError

CONTENT = (
    b"lsat,ugpa,zfygpa,zgpa,fam_inc,dob_yr,tier,fulltime,gender,race1,pass_bar,bar\n"
    b"30,3.1,-1.79, ,4,68,2,1,female,white,1,x\n"
    b"44,3.5,1.33,1.88,5,69,4,2,male,black,0,x\n"
    b"44,3.5,1.33,1.88,5,69,4,2,male,asian,0,x\n"
    b"44,3.5,1.33,1.88,5,69,4,2,male,black, ,x\n"
)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class Truncated(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:100])

    def log_message(self, *args):
        pass


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Empty cache, no folder of the user's."""
    monkeypatch.delenv("FAIRALM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache" / "fairalm"


@pytest.fixture
def serve(monkeypatch, cache):
    """Start a server and point the loader at it."""
    servers = []

    def start(handler, sha256=SHA256):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        servers.append(server)
        monkeypatch.setattr(_law, "URL", f"http://127.0.0.1:{server.server_port}/lsac.csv")
        monkeypatch.setattr(_law, "SHA256", sha256)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "lsac.csv").write_bytes(CONTENT)
    return functools.partial(Quiet, directory=str(folder))


def test_download_fills_the_cache_once(serve, site, cache):
    serve(site)
    data = load_law(download=True)
    assert data.groups.tolist() == ["white", "black"]
    assert data.y.tolist() == [1, 0]
    assert data.X["zgpa"].isna().tolist() == [True, False]
    assert [path.name for path in cache.iterdir()] == ["lsac.csv"]
    _law.URL = "http://127.0.0.1:1/gone"  # restored by the fixture
    assert len(load_law(download=True).frame) == 2
    assert len(load("law").frame) == 2


def test_download_into_a_folder(serve, site, cache, tmp_path):
    serve(site)
    assert len(load_law(tmp_path / "mine", download=True).frame) == 2
    assert (tmp_path / "mine" / "lsac.csv").read_bytes() == CONTENT
    assert not cache.exists()


def test_wrong_checksum_leaves_no_file(serve, site, cache):
    serve(site, sha256="0" * 64)
    with pytest.raises(InputError, match="other bytes than expected"):
        load_law(download=True)
    assert not cache.exists()


def test_broken_transfer_leaves_no_file(serve, cache):
    serve(Truncated)
    with pytest.raises(InputError, match="could not be fetched"):
        load_law(download=True)
    assert not cache.exists()


def test_file_not_on_the_server(serve, site, cache, tmp_path):
    (tmp_path / "site" / "lsac.csv").unlink()
    serve(site)
    with pytest.raises(InputError, match=r"404.*put lsac.csv into a folder"):
        load_law(download=True)


def test_without_download_the_error_says_what_to_do(cache, monkeypatch, tmp_path):
    with pytest.raises(InputError, match=r"cache.*download=True.*data_dir .*FAIRALM_DATA"):
        load_law()
    monkeypatch.setenv("FAIRALM_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(InputError, match=r"elsewhere or .*cache"):
        load_law()


def test_environment_variable_comes_before_the_cache(cache, monkeypatch, tmp_path):
    cache.mkdir(parents=True)
    (cache / "lsac.csv").write_text("broken")
    (tmp_path / "tabular").mkdir()
    (tmp_path / "tabular" / "lsac.csv").write_bytes(CONTENT)
    monkeypatch.setenv("FAIRALM_DATA", str(tmp_path))
    assert len(load_law().frame) == 2


def test_an_explicit_folder_comes_before_the_environment_variable(cache, monkeypatch, tmp_path):
    (tmp_path / "lsac.csv").write_bytes(CONTENT)
    monkeypatch.setenv("FAIRALM_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"not in .*nowhere"):
        load_law(tmp_path / "nowhere")


def test_the_pinned_checksum_is_that_of_the_file(raw_dir):
    content = find(raw_dir, "lsac.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == _law.SHA256
