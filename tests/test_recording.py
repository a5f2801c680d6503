"""The picture of a terminal."""

import sys
from xml.etree import ElementTree

import pytest
import recording


@pytest.mark.skipif(sys.platform == "win32", reason="no printf")
def test_a_recording_shows_what_stays_on_the_terminal_without_colours_dates_and_the_folder(tmp_path):
    command = rf"printf '10 %%\r\033[32m100 %%\033[0m\n2026-11-23 04:00:00 INFO <done>\n'; pwd; cd {tmp_path}/gone"
    lines = recording.output_of(command, str(tmp_path))
    assert lines[:3] == ["100 %", "04:00:00 INFO <done>", "~"]
    assert "~/gone" in lines[3]


def test_a_picture_holds_every_line_and_breaks_long_ones():
    lines = ["$ echo '<a> & b'", "", "x" * (recording.WIDTH + 1)]
    texts = list(ElementTree.fromstring(recording.drawn(lines)).iter("{http://www.w3.org/2000/svg}text"))
    assert [text.text or "" for text in texts] == [*lines[:2], "x" * recording.WIDTH, "x"]
    assert [text.get("class") for text in texts] == ["command", "output", "output", "output"]
