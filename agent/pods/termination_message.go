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

// Limits of termination messages, in bytes and lines, as the kubelet has them.
const (
	maxTerminationMessage        = 4096
	maxTerminationMessageFromLog = 2048
	maxTerminationLogLines       = 80
	terminationLogReadBytes      = 16 << 10
)

// terminationMessageFile returns the file that is mounted at a container's
// terminationMessagePath.
func (p *pod) terminationMessageFile(uid types.UID, c *run) string {
	return filepath.Join(p.runner.podDir(uid), messagesDir, c.name, strconv.FormatUint(uint64(c.attempt), 10))
}

// terminationMessage returns the contents of the terminationMessagePath of an exited container.
// With FallbackToLogsOnError it may return the end of the log. p.mu must be held.
func (p *pod) terminationMessage(c *run, code int32) string {
	spec := findContainer(p.object, c.name)
	if spec == nil {
		return ""
	}
	if text := readHead(p.terminationMessageFile(p.object.UID, c), maxTerminationMessage); text != "" {
		return text
	}
	if spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError && code != 0 {
		return readLogTail(filepath.Join(LogDir(p.runner.opts.Logs, p.object), logPath(c.name, c.attempt)))
	}
	return ""
}

// readHead returns the beginning of a file, or "" if it cannot be read.
func readHead(path string, limit int64) string {
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

// readLogTail returns the end of the text of a log in CRI format.
func readLogTail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	start := max(size-terminationLogReadBytes, 0)
	b := make([]byte, size-start)
	n, err := f.ReadAt(b, start)
	if err != nil && err != io.EOF {
		return ""
	}
	lines := strings.SplitAfter(string(b[:n]), "\n")
	if start > 0 {
		lines = lines[1:] // the first line is incomplete
	}
	var output []string
	for _, line := range lines {
		// TIME STREAM TAG TEXT; a partial line (tag P) continues on the next line.
		if parts := strings.SplitN(line, " ", 4); len(parts) == 4 {
			if parts[2] == "P" {
				parts[3] = strings.TrimSuffix(parts[3], "\n")
			}
			output = append(output, parts[3])
		}
	}
	output = output[max(len(output)-maxTerminationLogLines, 0):]
	text := strings.Join(output, "")
	return text[max(len(text)-maxTerminationMessageFromLog, 0):]
}
