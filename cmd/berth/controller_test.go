package main

import (
	"strings"
	"testing"

	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/controllers/upstreamguard"
)

func TestDeprecatedControllerNames(t *testing.T) {
	for formerName, name := range deprecatedControllers {
		if isController(formerName) || !isController(name) {
			t.Errorf("isController() = %t for the former name %s and %t for %s, want false and true", isController(formerName), formerName, isController(name), name)
		}
		if got := currentControllerNames([]string{"podgc", formerName}); got[0] != "podgc" || got[1] != name {
			t.Errorf("%s: got %q, want podgc and %s", formerName, got, name)
		}
	}
}

// TestUpstreamGuardListsEveryController checks that the upstream guard has an entry for each
// controller.
func TestUpstreamGuardListsEveryController(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range controllerNames() {
		if seen[name] || !upstreamguard.IsKnown(name) {
			t.Errorf("controller %s is listed twice, or is missing in controllers/upstreamguard", name)
		}
		seen[name] = true
	}
}

// TestControllerFlagErrors checks the errors for names of controllers, --upstream-off (after =)
// and --journal (after @).
func TestControllerFlagErrors(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "",
		"tainteviction disruption":              "",
		"tainteviction=tainteviction":           "",
		"=tainteviction":                        "",
		"taint":                                 `unknown controller "taint"`,
		"tainteviction tainteviction":           `controller "tainteviction" is named twice`,
		"tainteviction=taint":                   `--upstream-off "taint": unknown controller`,
		"tainteviction=disruption":              `--upstream-off "disruption": this controller does not run; those that run: tainteviction`,
		"tainteviction node-drainer":            `unknown controller "node-drainer"`,
		"@dir":                                  "",
		"tainteviction displacementrecords@dir": "",
		"tainteviction podgc@dir":               `--journal "dir": the controller displacementrecords writes it and does not run; those that run: tainteviction, podgc`,
	} {
		f := controllerFlags{election: electionFlags{enabled: true, Election: leaderelection.Default("berth-controller")}}
		args, f.journal, _ = strings.Cut(args, "@")
		names, upstreamOff, _ := strings.Cut(args, "=")
		if upstreamOff != "" {
			f.upstreamOff = []string{upstreamOff}
		}
		err := f.validate(strings.Fields(names))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
