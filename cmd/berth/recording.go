package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/berthproject/berth/internal/recording"
)

const inputsFlag = "journal-inputs-mib"

// inputsMiB is the maximum size of the recorded inputs of the scheduler.
type inputsMiB int64

func (n *inputsMiB) addFlag(f *pflag.FlagSet) {
	f.Int64Var((*int64)(n), inputsFlag, recording.DefaultMaxBytes>>20, "maximum size in `MiB` of the scheduler's inputs in the journal, for `berth replay` and the time slider of the web page (`berth ui`); 0: do not record them")
}

func (n inputsMiB) validate() error {
	if n < 0 || n > 0 && n < 8 || n > 1<<20 {
		return fmt.Errorf("--%s %d: must be 0 or 8 to 1048576", inputsFlag, n)
	}
	return nil
}

// open opens a directory to record the scheduler's inputs. It returns nil if they are not recorded.
func (n inputsMiB) open(dir, writer string, log *slog.Logger) (*recording.Recorder, error) {
	if dir == "" || n == 0 {
		return nil, nil
	}
	r, err := recording.Open(dir, recording.Options{Writer: writer, MaxBytes: int64(n) << 20, Log: log})
	if err != nil {
		return nil, fmt.Errorf("--journal %s: %w", dir, err)
	}
	return r, nil
}
