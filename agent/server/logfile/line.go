package logfile

import (
	"bytes"
	"time"
)

type line struct {
	timestamp time.Time
	stderr    bool
	full      bool // ends a line of the container's output
	text      []byte
}

// parseLine parses a line without its newline; ok is false if the format is wrong.
func parseLine(raw []byte) (line, bool) {
	rawTime, raw, ok := bytes.Cut(raw, []byte(" "))
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
	t, err := time.Parse(time.RFC3339Nano, string(rawTime))
	if err != nil {
		return line{}, false
	}
	return line{timestamp: t, stderr: string(stream) == "stderr", full: string(tag) == "F", text: text}, true
}
