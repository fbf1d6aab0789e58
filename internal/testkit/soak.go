package testkit

import "os"

// SoakRuns returns soak if BERTH_SOAK is set, as in make soak, and otherwise runs.
func SoakRuns(runs, soak int) int {
	if os.Getenv("BERTH_SOAK") != "" {
		return soak
	}
	return runs
}
