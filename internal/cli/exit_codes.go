package cli

import "errors"

// Exit codes of berth. `berth kubectl` uses those of kubectl.
const (
	ExitOK         = 0
	ExitFailure    = 1
	ExitConflict   = 2
	ExitIncomplete = 3
	ExitImpossible = 4
)

// ExitCodeDoc describes one exit code for the reference documentation.
type ExitCodeDoc struct {
	Code     int
	Commands string
	Meaning  string
}

// ExitCodes is the table of all exit codes.
var ExitCodes = []ExitCodeDoc{
	{ExitOK, "all", "The command succeeded. Commands that report (`explain`, `queue`, `evictions`, `zones`) exit with 0 whatever they report."},
	{ExitFailure, "all", "The command failed, or its flags, arguments or files are invalid. `simulate`: an expectation of the scenario was not met. `demo`: an act did not show what it describes."},
	{ExitConflict, "controller, descheduler, agent --guard", "The command does not start, because another component does the same work: a controller of kube-controller-manager, another descheduler, or the kubelet's own eviction."},
	{ExitIncomplete, "drain, descheduler", "Some pods were not moved, for example because a disruption budget does not allow it yet or the timeout passed."},
	{ExitImpossible, "drain", "Some pods can never be moved unless an object changes; the report names the field to change."},
}

type exitError struct {
	error
	code int
}

// Unwrap returns the error without its exit code.
func (e exitError) Unwrap() error { return e.error }

// WithExitCode returns err with an exit code for [ExitCode].
func WithExitCode(err error, code int) error { return exitError{err, code} }

// ExitCode returns the exit code for err: the code given to [WithExitCode], else
// [ExitFailure].
func ExitCode(err error) int {
	var e exitError
	if errors.As(err, &e) {
		return e.code
	}
	return ExitFailure
}
