package plain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/berthproject/berth/agent/workload"
)

// joinEnv lists the directories of the cgroups that a process is to join before it works.
const joinEnv = "BERTH_PLAIN_JOIN"

// WorkloadEnv is the environment in which a program that calls Main is the workload,
// in the cgroup where it is.
const WorkloadEnv = joinEnv + "="

// Main does not return in a process that is to be a pod's; in others it does nothing.
func Main() {
	join, ok := os.LookupEnv(joinEnv)
	if !ok {
		return
	}
	if join != "" {
		if err := enter(strings.Split(join, ":")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(workload.Main(os.Args[1:], os.Stdout, os.Stderr))
}

func enter(dirs []string) error {
	for _, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
	}
	// Processes that it starts are in the cgroup by themselves.
	return os.Setenv(joinEnv, "")
}
