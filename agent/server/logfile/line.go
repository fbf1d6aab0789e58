package logfile

import (
	"bytes"
	"time"
)

// line is one line of the file.
type line struct {
	at     time.Time
	stderr bool
	full   bool // it ends what the container wrote as one line
	text   []byte
}

// parseLine reads a line without its newline; false if it is not in the format.
func parseLine(raw []byte) (line, bool) {
	at, raw, ok := bytes.Cut(raw, []byte(" "))
	if !ok {
		return line{}, false
	}
	stream, raw, ok := bytes.Cut(raw, []byte(" "))
	if !ok || string(stream) != "stdout" && string(stream) != "stderr" {
		return line{}, false
	}
	tags, text, _ := bytes.Cut(raw, []byte(" ")) // an empty line may end after its tag
	tag, _, _ := bytes.Cut(tags, []byte(":"))
	if string(tag) != "F" && string(tag) != "P" {
		return line{}, false
	}
	when, err := time.Parse(time.RFC3339Nano, string(at))
	if err != nil {
		return line{}, false
	}
	return line{at: when, stderr: string(stream) == "stderr", full: string(tag) == "F", text: text}, true
}
