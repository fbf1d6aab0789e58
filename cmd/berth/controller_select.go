package main

import (
	"cmp"
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

// selectControllers returns the controllers to run. It fails if the API server is not
// Berth's and no controller is named, or if the credential lacks permissions.
func (f *controllerFlags) selectControllers(ctx context.Context, config *rest.Config, names []string) ([]string, error) {
	isBerth, version, err := isBerthServer(config)
	switch {
	case err != nil:
		return nil, err
	case isBerth && len(names) == 0:
		return controllerNames(), cli.RequirePermission(ctx, config, authorizationv1.ResourceAttributes{Verb: "list", Resource: "namespaces"},
			"create a credential with `berth credentials --for controller`")
	case len(names) == 0:
		return nil, cli.WithExitCode(fmt.Errorf("the API server at %s is not Berth's (version %s) and may have its own controllers: name the controllers to run: %s",
			config.Host, version, strings.Join(controllerNames(), ", ")), cli.ExitConflict)
	}
	if !f.election.enabled {
		return names, nil
	}
	return names, cli.RequirePermission(ctx, config, authorizationv1.ResourceAttributes{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: f.election.Namespace},
		"deploy/controller.yaml has the required roles, and `berth credentials --for controller` a credential for Berth's API server")
}

func (f *controllerFlags) validate(names []string) error {
	seen := map[string]bool{}
	for _, n := range names {
		switch {
		case !isController(n):
			return fmt.Errorf("unknown controller %q: must be one of %s%s", n, strings.Join(controllerNames(), ", "), cli.DidYouMean(n, controllerNames()))
		case seen[n]:
			return fmt.Errorf("controller %q is named twice", n)
		}
		seen[n] = true
	}
	for _, n := range f.upstreamOff {
		switch {
		case !isController(n):
			return fmt.Errorf("--upstream-off %q: unknown controller: must be one of %s%s", n, strings.Join(controllerNames(), ", "), cli.DidYouMean(n, controllerNames()))
		case len(names) > 0 && !seen[n]:
			return fmt.Errorf("--upstream-off %q: this controller does not run; those that run: %s", n, strings.Join(names, ", "))
		}
	}
	if f.journal != "" && len(names) > 0 && !seen[controllermanager.RecordsController] {
		return fmt.Errorf("--journal %q: the controller %s writes it and does not run; those that run: %s", f.journal, controllermanager.RecordsController, strings.Join(names, ", "))
	}
	if !f.election.enabled {
		return nil
	}
	return f.election.Validate()
}

// isBerthServer reports whether the API server is Berth's, and its version.
func isBerthServer(config *rest.Config) (isBerth bool, version string, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return false, "", err
	}
	v, err := client.Discovery().ServerVersion()
	if err != nil {
		return false, "", fmt.Errorf("requesting the server's version: %w", err)
	}
	return strings.Contains(v.GitVersion, "berth"), v.GitVersion, nil
}

func controllerNames() (out []string) {
	for i := range controllermanager.Controllers {
		out = append(out, controllermanager.Controllers[i].Name)
	}
	slices.Sort(out)
	return out
}

// deprecatedControllers maps former names of controllers to the current ones.
var deprecatedControllers = map[string]string{"garbage": "garbagecollector", "records": "displacementrecords", "taints": "tainteviction"}

// currentControllerNames replaces deprecated names.
func currentControllerNames(names []string) []string {
	out := slices.Clone(names)
	for i, n := range out {
		out[i] = cmp.Or(deprecatedControllers[n], n)
	}
	return out
}

func isController(name string) bool { return slices.Contains(controllerNames(), name) }
