package batch

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cronField is a field of a cron schedule.
type cronField struct {
	low, high int
	names     []string // names[i] stands for low+i
}

// cronFields are minute, hour, day of month, month and day of week.
var cronFields = [...]cronField{
	{low: 0, high: 59},
	{low: 0, high: 23},
	{low: 1, high: 31},
	{low: 1, high: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{low: 0, high: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// scheduleError returns why a cron schedule or a descriptor such as @daily is invalid, or "". The text
// is that of the parser that kube-apiserver uses.
func scheduleError(schedule string) string {
	if remainder, hasZone := cutZone(schedule); hasZone {
		name, fields, _ := strings.Cut(remainder, " ")
		if _, err := time.LoadLocation(name); err != nil {
			return fmt.Sprintf("provided bad location %s: %v", name, err)
		}
		schedule = strings.TrimSpace(fields)
	}
	if strings.HasPrefix(schedule, "@") {
		return descriptorError(schedule)
	}
	parts := strings.Fields(schedule)
	if len(parts) != len(cronFields) {
		return fmt.Sprintf("expected exactly 5 fields, found %d: [%s]", len(parts), strings.Join(parts, " "))
	}
	for i, part := range parts {
		for _, expr := range strings.Split(part, ",") {
			if err := cronFields[i].check(expr); err != nil {
				return err.Error()
			}
		}
	}
	return ""
}

// cutZone returns the schedule without a leading "TZ=" or "CRON_TZ=", and whether it had one. If it had
// one, the result starts with the name of the time zone.
func cutZone(schedule string) (string, bool) {
	for _, prefix := range []string{"TZ=", "CRON_TZ="} {
		if remainder, found := strings.CutPrefix(schedule, prefix); found {
			return remainder, true
		}
	}
	return "", false
}

func descriptorError(text string) string {
	switch text {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return ""
	}
	if every, found := strings.CutPrefix(text, "@every "); found {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Sprintf("failed to parse duration %s: %v", text, err)
		}
		return ""
	}
	return "unrecognized descriptor: " + text
}

// check validates an expression: a star, a value or a range, with an optional step.
func (f cronField) check(expr string) error {
	rangeAndStep := strings.Split(expr, "/")
	lowAndHigh := strings.Split(rangeAndStep[0], "-")
	single := len(lowAndHigh) == 1
	start, end := f.low, f.high
	if lowAndHigh[0] != "*" && lowAndHigh[0] != "?" {
		var err error
		if start, err = f.value(lowAndHigh[0]); err != nil {
			return err
		}
		switch len(lowAndHigh) {
		case 1:
			end = start
		case 2:
			if end, err = f.value(lowAndHigh[1]); err != nil {
				return err
			}
		default:
			return fmt.Errorf("too many hyphens: %s", expr)
		}
	}
	step := 1
	switch len(rangeAndStep) {
	case 1:
	case 2:
		var err error
		if step, err = parseNumber(rangeAndStep[1]); err != nil {
			return err
		}
		if single {
			end = f.high
		}
	default:
		return fmt.Errorf("too many slashes: %s", expr)
	}
	switch {
	case start < f.low:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", start, f.low, expr)
	case end > f.high:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", end, f.high, expr)
	case start > end:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", start, end, expr)
	case step == 0:
		return fmt.Errorf("step of range should be a positive number: %s", expr)
	}
	return nil
}

func (f cronField) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return f.low + i, nil
		}
	}
	return parseNumber(text)
}

func parseNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %w", text, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, text)
	}
	return n, nil
}
