package batch

import (
	"testing"
)

// TestCronSchedules checks that the errors are those of the cron parser that kube-apiserver uses.
func TestCronSchedules(t *testing.T) {
	for text, want := range map[string]string{
		"*/15 0 1,15 * MON-FRI": "",
		"@every 1h30m":          "",
		"@hourly":               "",
		"TZ=UTC 0 0 * * *":      "",
		"@sometimes":            "unrecognized descriptor: @sometimes",
		"* * * *":               "expected exactly 5 fields, found 4: [* * * *]",
		"* * 0 * *":             "beginning of range (0) below minimum (1): 0",
		"5-1 * * * *":           "beginning of range (5) beyond end of range (1): 5-1",
		"*/0 * * * *":           "step of range should be a positive number: */0",
		"1-2-3 * * * *":         "too many hyphens: 1-2-3",
		"1/2/3 * * * *":         "too many slashes: 1/2/3",
		"x * * * *":             `failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax`,
	} {
		if got := scheduleError(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
