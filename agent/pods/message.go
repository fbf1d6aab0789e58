package pods

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Limits of what a container leaves as its last words, in bytes and lines.
const (
	maxMessage  = 4096
	logMessage  = 2048
	logLines    = 80
	logReadBack = 16 << 10
)

// messageFile is where a container's run writes its last words.
func (p *pod) messageFile(uid types.UID, c *run) string {
	return filepath.Join(p.runner.dir(uid), "containers", c.name, strconv.FormatUint(uint64(c.attempt), 10))
}

// lastWords is the message of a container that has ended: what it wrote to its terminationMessagePath, or, if
// it failed without a word and asks for that, the end of its log. p.mu is held.
func (p *pod) lastWords(c *run, code int32) string {
	spec := find(p.object, c.name)
	if spec == nil {
		return ""
	}
	if words := head(p.messageFile(p.object.UID, c), maxMessage); words != "" {
		return words
	}
	if spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError && code != 0 {
		return tail(filepath.Join(LogDir(p.runner.opts.Logs, p.object), logPath(c.name, c.attempt)))
	}
	return ""
}

// head is the beginning of a file; empty if it cannot be read.
func head(path string, limit int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return ""
	}
	return string(b)
}

// tail is the end of what a log in CRI's format says.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	start := max(size-logReadBack, 0)
	b := make([]byte, size-start)
	n, err := f.ReadAt(b, start)
	if err != nil && err != io.EOF {
		return ""
	}
	lines := strings.SplitAfter(string(b[:n]), "\n")
	if start > 0 {
		lines = lines[1:] // the first one is cut
	}
	var said []string
	for _, line := range lines {
		// TIME STREAM TAG TEXT; a partial line (tag P) goes on in the next.
		if parts := strings.SplitN(line, " ", 4); len(parts) == 4 {
			if parts[2] == "P" {
				parts[3] = strings.TrimSuffix(parts[3], "\n")
			}
			said = append(said, parts[3])
		}
	}
	said = said[max(len(said)-logLines, 0):]
	text := strings.Join(said, "")
	return text[max(len(text)-logMessage, 0):]
}
