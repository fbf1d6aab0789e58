// Command software installs other projects' software on Berth, unmodified and from its own manifests, and checks that
// each program does its main job: `make software`.
//
// It builds the programs from the Go modules that their files pin. If a module has no commands, a program in testdata
// starts its unmodified packages. It packs them as images under the names that the manifests have, and starts `berth
// up` with two virtual nodes for each. It also runs suites of these projects that use envtest on `berth server`. It
// stores the results in results.txt; docs/reference/software.md shows them.
//
// The exit code is 0 if every program does its job and every spec passes.
package main
