package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/journal"
)

func journalFlag(f *pflag.FlagSet, dir *string, fallback string) {
	f.StringVar(dir, "journal", "", "`directory` for displacement records and scheduling decisions, at most 64 MiB each per process (default: "+fallback+")")
}

// openJournal opens a directory for displacement records. It returns nil if dir is empty.
func openJournal(dir, writer string) (*journal.Journal, error) {
	if dir == "" {
		return nil, nil
	}
	j, err := journal.Open(dir, journal.Options{Writer: writer})
	if err != nil {
		return nil, fmt.Errorf("--journal %s: %w", dir, err)
	}
	return j, nil
}

// openDecisions opens a directory for scheduling decisions. It returns nil if dir is empty.
func openDecisions(dir, writer string) (*journal.Decisions, error) {
	if dir == "" {
		return nil, nil
	}
	d, err := journal.OpenDecisions(dir, journal.Options{Writer: writer})
	if err != nil {
		return nil, fmt.Errorf("--journal %s: %w", dir, err)
	}
	return d, nil
}

// journalDir returns the directory to read a journal from. It is the given one, else the one next
// to the kubeconfig of the command, or "" if there is none.
func journalDir(path string, cluster *cli.Cluster) (string, error) {
	if path != "" && !isDir(path) {
		return "", fmt.Errorf("--journal %s: must be an existing journal directory of berth up, berth controller or berth scheduler", path)
	}
	if path != "" {
		return path, nil
	}
	dir := filepath.Join(cluster.Dir(), "journal") // in a data directory the journal is next to the kubeconfig
	if !isDir(dir) {
		return "", nil
	}
	return dir, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
