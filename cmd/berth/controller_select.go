package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/controllermanager"
)

// selectControllers are the loops to run, as far as the API server and the credential allow it.
func (f *controllerFlags) selectControllers(ctx context.Context, config *rest.Config, names []string) ([]string, error) {
	own, version, err := isBerthServer(config)
	switch {
	case err != nil:
		return nil, err
	case own:
		if len(names) == 0 {
			names = controllerNames()
		}
		return names, cli.RequirePermission(ctx, config, authorizationv1.ResourceAttributes{Verb: "list", Resource: "namespaces"},
			"berth credentials --for controller makes one that may")
	case len(names) == 0:
		return nil, cli.WithExitCode(fmt.Errorf("the API server at %s is not Berth's (version %s) and may have controllers of its own: name the loops to run, of %s",
			config.Host, version, strings.Join(controllerNames(), ", ")), cli.ExitConflict)
	}
	if !f.elect {
		return names, nil
	}
	return names, cli.RequirePermission(ctx, config, authorizationv1.ResourceAttributes{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: f.election.Namespace},
		"deploy/controller.yaml has the roles")
}

// validate says what is wrong with the arguments.
func (f *controllerFlags) validate(names []string) error {
	seen := map[string]bool{}
	for _, n := range names {
		switch {
		case !isController(n):
			return fmt.Errorf("loop %q: there is none of that name; there are %s", n, strings.Join(controllerNames(), ", "))
		case seen[n]:
			return fmt.Errorf("loop %q: is named twice", n)
		}
		seen[n] = true
	}
	for _, n := range f.upstreamOff {
		switch {
		case !isController(n):
			return fmt.Errorf("--upstream-off %q: there is no loop of that name; there are %s", n, strings.Join(controllerNames(), ", "))
		case len(names) > 0 && !seen[n]:
			return fmt.Errorf("--upstream-off %q: that loop is not among those to run: %s", n, strings.Join(names, ", "))
		}
	}
	if f.journal != "" && len(names) > 0 && !seen[controllermanager.RecordsController] {
		return fmt.Errorf("--journal %q: the loop %s writes it, and is not among those to run: %s", f.journal, controllermanager.RecordsController, strings.Join(names, ", "))
	}
	if !f.elect {
		return nil
	}
	return f.election.Validate()
}

// isBerthServer says whether an API server is Berth's, and its version.
func isBerthServer(config *rest.Config) (own bool, version string, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return false, "", err
	}
	v, err := client.Discovery().ServerVersion()
	if err != nil {
		return false, "", err
	}
	return strings.Contains(v.GitVersion, "berth"), v.GitVersion, nil
}

// controllerNames are the names of all loops.
func controllerNames() (out []string) {
	for i := range controllermanager.Controllers {
		out = append(out, controllermanager.Controllers[i].Name)
	}
	slices.Sort(out)
	return out
}

// isController says whether there is a loop of that name.
func isController(name string) bool { return slices.Contains(controllerNames(), name) }
