package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/journal"
)

// journalFlag adds --journal.
func journalFlag(f *pflag.FlagSet, dir *string, without string) {
	f.StringVar(dir, "journal", "", "`directory` to keep the records of displaced pods in, which outlast their events, and a scheduler's decisions: at most 64 MiB each a writer; without it "+without)
}

// openJournal opens a directory to write records to; none for "".
func openJournal(dir, writer string) (*journal.Journal, error) {
	if dir == "" {
		return nil, nil
	}
	j, err := journal.Open(dir, journal.Options{Writer: writer})
	if err != nil {
		return nil, fmt.Errorf("--journal: %w", err)
	}
	return j, nil
}

// openDecisions opens a directory to write decisions to; none for "".
func openDecisions(dir, writer string) (*journal.Decisions, error) {
	if dir == "" {
		return nil, nil
	}
	d, err := journal.OpenDecisions(dir, journal.Options{Writer: writer})
	if err != nil {
		return nil, fmt.Errorf("--journal: %w", err)
	}
	return d, nil
}

// journalDir is the directory to read a journal from: the given one, else that beside the kubeconfig, or in the default
// data directory; empty if there is none.
func journalDir(given, kubeconfig string) (string, error) {
	if given != "" && !isDir(given) {
		return "", fmt.Errorf("--journal %s: not a directory: want the one that --journal of berth up, controller or scheduler names", given)
	}
	if given != "" {
		return given, nil
	}
	dir := cli.DefaultDataDir()
	if kubeconfig != "" {
		dir = filepath.Dir(kubeconfig) // that of a data directory lies beside the journal
	}
	if dir = filepath.Join(dir, "journal"); !isDir(dir) {
		return "", nil
	}
	return dir, nil
}
