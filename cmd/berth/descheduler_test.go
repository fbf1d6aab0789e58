package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/controllers/upstreamguard"
	"github.com/berthproject/berth/internal/cli"
)

// TestDeschedulerOnceExitCodes checks the exit code of each outcome of a single run.
func TestDeschedulerOnceExitCodes(t *testing.T) {
	allMoved := &descheduler.Report{Moves: []descheduler.MoveReport{{Outcome: "moved"}}}
	partlyMoved := &descheduler.Report{Moves: []descheduler.MoveReport{{Outcome: "moved"}, {Outcome: "abandoned"}}}
	for name, tc := range map[string]struct {
		report *descheduler.Report
		err    error
		code   int
	}{
		"nothing to move":          {&descheduler.Report{}, nil, 0},
		"all moved":                {allMoved, nil, 0},
		"some not moved":           {partlyMoved, nil, 3},
		"timed out":                {partlyMoved, fmt.Errorf("--timeout 1m0s: %w", descheduler.ErrTimeout), 3},
		"stopped":                  {partlyMoved, context.Canceled, 3},
		"another descheduler runs": {nil, &upstreamguard.AlreadyRunningError{}, 2},
		"the API does not respond": {nil, errors.New("no route to host"), 1},
	} {
		err := (&deschedulerFlags{}).finish(io.Discard, tc.report, tc.err)
		code := 0
		if err != nil {
			code = cli.ExitCode(err)
		}
		if code != tc.code {
			t.Errorf("%s: got exit code %d and error %v, want %d", name, code, err, tc.code)
		}
	}
}
