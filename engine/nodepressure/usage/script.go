package usage

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Annotation holds the usage script of a pod or node, CapacityAnnotation a node's capacity beyond
// status.capacity.
const (
	Annotation         = "sim.berth.dev/usage"
	CapacityAnnotation = "sim.berth.dev/capacity"
)

// Keys of scripts.
const (
	Memory     = "memory"
	Cache      = "cache"
	Refaults   = "refaults"
	Disk       = "disk"
	Logs       = "logs"
	Inodes     = "inodes"
	PIDs       = "pids"
	Images     = "images"
	Containers = "containers"
	volume     = "volume/" // prefix of the volume's name
)

var (
	podKeys  = []string{Memory, Cache, Refaults, Disk, Logs, Inodes, PIDs}
	nodeKeys = []string{Memory, Disk, Inodes, PIDs, Images, Containers}
)

// Script is usage over time, by key.
type Script struct{ lines []line }

type line struct {
	key    string
	points []point
}

type point struct {
	at     time.Duration
	amount int64
}

// Empty reports whether the script has no keys.
func (s *Script) Empty() bool { return len(s.lines) == 0 }

// ParsePod parses a pod's annotation.
func ParsePod(text string) (Script, error) { return parse(text, podKeys, true) }

// ParseNode parses a node's annotation.
func ParseNode(text string) (Script, error) { return parse(text, nodeKeys, false) }

func parse(text string, keys []string, volumes bool) (s Script, err error) {
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, points, hasPoints := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		name, isVolume := strings.CutPrefix(key, volume)
		switch {
		case !slices.Contains(keys, key) && !(volumes && isVolume && name != ""):
			return s, fmt.Errorf("%s: %q: unknown key %q: must be one of %s", Annotation, part, key, strings.Join(keys, ", "))
		case !hasPoints:
			return s, fmt.Errorf("%s: %q: must be %s=AMOUNT@TIME, separated by commas", Annotation, part, key)
		case slices.ContainsFunc(s.lines, func(l line) bool { return l.key == key }):
			return s, fmt.Errorf("%s: %s: must be given once", Annotation, key)
		}
		l := line{key: key}
		if l.points, err = parsePoints(points); err != nil {
			return s, fmt.Errorf("%s: %s: %w", Annotation, key, err)
		}
		s.lines = append(s.lines, l)
	}
	if len(s.lines) == 0 {
		return s, fmt.Errorf("%s: %q: must be KEY=AMOUNT@TIME, with a key of %s", Annotation, text, strings.Join(keys, ", "))
	}
	slices.SortFunc(s.lines, func(a, b line) int { return cmp.Compare(a.key, b.key) })
	return s, nil
}

func parsePoints(text string) (out []point, err error) {
	for part := range strings.SplitSeq(text, ",") {
		amount, at, hasTime := strings.Cut(strings.TrimSpace(part), "@")
		var p point
		if p.amount, err = Amount(amount); err != nil {
			return nil, err
		}
		if hasTime {
			if p.at, err = time.ParseDuration(at); err != nil || p.at < 0 {
				return nil, fmt.Errorf("%q: the time must be a duration such as 90s or 5m", part)
			}
		}
		if len(out) > 0 && p.at < out[len(out)-1].at {
			return nil, fmt.Errorf("%q: must not be before %s", part, out[len(out)-1].at)
		}
		out = append(out, p)
	}
	return out, nil
}

var suffixes = []struct {
	text   string
	factor float64
}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1}}

// Amount parses a number of bytes, files or processes.
func Amount(text string) (int64, error) {
	for _, s := range suffixes {
		number, ok := strings.CutSuffix(text, s.text)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		v *= s.factor
		if err != nil || !(v >= 0 && v < math.MaxInt64/4) {
			break
		}
		return int64(v), nil
	}
	return 0, fmt.Errorf("%q: must be an amount such as 500, 100Mi or 1.5Gi", text)
}

// At returns the amount of a key at an age of the pod or node, or 0 if the script does not have the key.
func (s *Script) At(key string, age time.Duration) int64 { return s.atOr(key, age, 0) }

// atOr is At with fallback as the amount of a missing key.
func (s *Script) atOr(key string, age time.Duration, fallback int64) int64 {
	for i := range s.lines {
		if s.lines[i].key == key {
			return interpolate(s.lines[i].points, age)
		}
	}
	return fallback
}

func interpolate(points []point, age time.Duration) int64 {
	i := 0
	for i < len(points) && points[i].at <= age {
		i++
	}
	switch i {
	case 0:
		return points[0].amount
	case len(points):
		return points[i-1].amount
	}
	a, b := points[i-1], points[i]
	return a.amount + scale(b.amount-a.amount, age-a.at, b.at-a.at)
}

// scale returns amount*elapsed/period, where elapsed is at most period.
func scale(amount int64, elapsed, period time.Duration) int64 {
	size := amount
	if amount < 0 {
		size = -amount
	}
	high, low := bits.Mul64(uint64(size), uint64(elapsed))
	n, _ := bits.Div64(high, low, uint64(period))
	if amount < 0 {
		return -int64(n)
	}
	return int64(n)
}

// volumes returns the names of the volumes that the script fills.
func (s *Script) volumes() (names []string) {
	for i := range s.lines {
		if name, ok := strings.CutPrefix(s.lines[i].key, volume); ok {
			names = append(names, name)
		}
	}
	return names
}
