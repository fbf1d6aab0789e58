package cadvisor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berthproject/berth/agent/cgroup"
)

// reader reads the files of one cgroup. A missing file has no values.
type reader struct {
	host *cgroup.Host
	path string
}

func (r reader) isV2() bool { return r.host.Mode == cgroup.V2 }

// text returns the content of a file of a controller.
func (r reader) text(controller, file string) (string, bool) {
	dir := r.host.Dir(controller, r.path)
	if dir == "" {
		return "", false
	}
	content, err := os.ReadFile(filepath.Join(dir, file))
	return strings.TrimSpace(string(content)), err == nil
}

// number returns the number in a file, or 0 for values that parseNumber treats as unlimited.
func (r reader) number(controller, file string) (float64, bool) {
	text, ok := r.text(controller, file)
	if !ok {
		return 0, false
	}
	return parseNumber(text), true
}

// parseNumber parses a number. It returns 0 for values that mean unlimited: "max", very large numbers (cgroup v1) and
// negative numbers.
func parseNumber(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > 1<<62 {
		return 0
	}
	return n
}

// pairs returns the values of a file of lines "NAME VALUE".
func (r reader) pairs(controller, file string) map[string]float64 {
	text, ok := r.text(controller, file)
	if !ok {
		return nil
	}
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = n
		}
	}
	return out
}

// lines returns the number of lines of a file.
func (r reader) lines(controller, file string) (float64, bool) {
	text, ok := r.text(controller, file)
	if !ok || text == "" {
		return 0, ok
	}
	return float64(strings.Count(text, "\n") + 1), true
}

// transfers are the bytes and operations of one block device.
type transfers struct{ readBytes, writeBytes, reads, writes float64 }

// io returns the transfers by device, as MAJOR:MINOR.
func (r reader) io() map[string]*transfers {
	out := map[string]*transfers{}
	device := func(name string) *transfers {
		if out[name] == nil {
			out[name] = &transfers{}
		}
		return out[name]
	}
	if r.isV2() {
		text, _ := r.text("io", "io.stat")
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			for _, f := range fields[min(1, len(fields)):] {
				name, value, _ := strings.Cut(f, "=")
				d, n := device(fields[0]), parseNumber(value)
				switch name {
				case "rbytes":
					d.readBytes = n
				case "wbytes":
					d.writeBytes = n
				case "rios":
					d.reads = n
				case "wios":
					d.writes = n
				}
			}
		}
		return out
	}
	for _, file := range []string{"blkio.throttle.io_service_bytes", "blkio.throttle.io_serviced"} {
		text, _ := r.text("blkio", file)
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			if len(fields) != 3 {
				continue // the total
			}
			d, n := device(fields[0]), parseNumber(fields[2])
			switch {
			case fields[1] == "Read" && strings.HasSuffix(file, "bytes"):
				d.readBytes = n
			case fields[1] == "Write" && strings.HasSuffix(file, "bytes"):
				d.writeBytes = n
			case fields[1] == "Read":
				d.reads = n
			case fields[1] == "Write":
				d.writes = n
			}
		}
	}
	return out
}
