package main

import "strings"

// software is a project's release: how to build and install it, and how to check that it works.
type software struct {
	name    string
	job     string // its main job, for the document
	module  string
	version string
	sum     string // of the module, as in go.sum
	remark  string // why this is not the version that users install, or what the counts mean, or ""
	// commands is a directory in testdata with Berth's programs that run the module, if the module has no commands. They
	// are built in a subdirectory of that name in a copy of the module's sources.
	commands string
	// programs of the module, with the images that contain them.
	programs []program
	// test images that the checks use; each has busybox.
	images []string
	// setup are the steps that install the software, and checks the steps that test it.
	setup, checks []step
	// suites are packages with tests for envtest, relative to the module. They run on berth server.
	suites []string
}

// program is a program of a module and the image that contains it.
type program struct {
	name    string // of the binary
	pkg     string // relative to the module
	flags   string // of the linker
	image   string // reference in the manifests
	pulled  bool   // the manifests have the pull policy Always
	path    string // in the image
	user    string
	workDir string
}

// step is a command and its required output.
type step struct {
	does    string // for the output and the document
	program string // kubectl, helm or sh; empty means kubectl
	args    []string
	input   string // standard input
	// want is a regular expression that the output must match. The command is run again until it does.
	want string
	// denied requires that the command fails with an output that matches want.
	denied bool
}

// allSoftware is all software in the order in which it runs.
var allSoftware = []software{kueue, gatekeeper, argoRollouts, karpenter, certManager}

// noResource matches kubectl's messages about a resource that the API server does not serve. The message depends on
// whether the resource is in kubectl's discovery cache.
const noResource = "the server (doesn't have a resource type|could not find the requested resource)"

// sourceVariable is replaced in arguments by the directory with the module's sources.
const sourceVariable = "{source}"

// arguments returns the arguments of a step.
func (s step) arguments(source string) []string {
	var args []string
	for _, a := range s.args {
		args = append(args, strings.ReplaceAll(a, sourceVariable, source))
	}
	return args
}

// kubectl returns a step that runs kubectl. The arguments are separated by spaces.
func kubectl(does, args string) step { return step{does: does, args: strings.Fields(args)} }

// apply returns a step that applies a manifest. The step is repeated while the API server rejects the manifest, because
// a webhook may not serve yet when its pod is ready.
func apply(does, manifest string) step {
	return step{does: does, args: []string{"apply", "-f", "-"}, input: manifest, want: " (created|configured|unchanged|serverside-applied)"}
}

// prints returns the step with a regular expression that its output must match.
func (s step) prints(want string) step {
	s.want = want
	return s
}

// isDenied returns a step that must fail with a message that matches a regular expression.
func (s step) isDenied(want string) step {
	s.want, s.denied = want, true
	return s
}
