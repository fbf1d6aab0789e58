package main

import (
	"reflect"
	"strings"
	"testing"
)

const (
	nodeConformanceSpec = "[sig-node] Pods should restart [NodeConformance]"
	servicesSpec        = "[sig-network] Services should serve"
	dnsSerialSpec       = "[sig-network] DNS should resolve [Serial]"
)

// TestBeyondNames checks that names contains the specs of the groups that are not part of conformance and require no
// feature.
func TestBeyondNames(t *testing.T) {
	report := `[{"SpecReports": [
		{"ContainerHierarchyTexts": ["[sig-node] Pods"], "LeafNodeText": "should restart [NodeConformance]"},
		{"ContainerHierarchyTexts": ["[sig-node] Pods"], "LeafNodeText": "should run [NodeConformance] [Conformance]"},
		{"ContainerHierarchyTexts": ["[sig-node] Pods", "[Feature:Gate]"], "LeafNodeText": "should restart [NodeConformance]"},
		{"ContainerHierarchyTexts": ["[sig-node] Pods"], "LeafNodeText": "should not be listed"},
		{"ContainerHierarchyTexts": ["[sig-network] Services"], "LeafNodeText": "should serve"},
		{"ContainerHierarchyTexts": ["[sig-network] ServicesOfClouds"], "LeafNodeText": "should serve"},
		{"ContainerHierarchyTexts": ["[sig-scheduling] SchedulerPredicates [Serial]"], "LeafNodeText": "validates [FeatureGate:X] [Beta]"}]}]`
	got, err := parseBeyondNames([]byte(report))
	if want := []string{servicesSpec, nodeConformanceSpec}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q (error %v), want %q", got, err, want)
	}
}

func TestBeyondBatches(t *testing.T) {
	got, err := splitBatches([]string{nodeConformanceSpec, dnsSerialSpec, servicesSpec}, beyondBatch)
	want := []batch{{"beyond-node", []string{nodeConformanceSpec}}, {"beyond-services", []string{servicesSpec}}, {"serial", []string{dnsSerialSpec}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (error %v), want %+v", got, err, want)
	}
}

// TestBeyondText checks that the table counts the specs of conformance of the same runtime, and lists what did not pass.
func TestBeyondText(t *testing.T) {
	passed := result{"2026-01-02", outcome{state: statePassed}}
	conformant := "[sig-network] Services should exist [Conformance]"
	conformance := []runtimeResults{{runtime: "embedded", specs: []string{conformant}, results: map[string]result{}},
		{runtime: "containerd", specs: []string{conformant, nodeSpec}, results: map[string]result{conformant: passed, nodeSpec: passed}}}
	text := beyondText(conformance, []runtimeResults{{runtime: "containerd", specs: []string{servicesSpec, nodeConformanceSpec, dnsSerialSpec},
		results: map[string]result{servicesSpec: passed, nodeConformanceSpec: {"2026-01-03", outcome{state: stateSkipped, message: "no cloud"}}}}})
	for _, want := range []string{"| specs | containerd |", "| [sig-network] Services | 2 of 2 |", "| [sig-node] with [NodeConformance] | 0 of 1, 1 skipped by the suite |",
		"| [sig-network] DNS | 0 of 1, 1 not run |", "| date of the run | 2026-01-02 to 2026-01-03 |", "## Not passed beyond conformance on containerd",
		"| " + nodeConformanceSpec + " | Skipped by the suite: no cloud |"} {
		if !strings.Contains(text, want) {
			t.Errorf("got document %s\nwant text with %q", text, want)
		}
	}
	if text := beyondText(conformance, nil); text != "" {
		t.Errorf("without results: got %q, want no text", text)
	}
}
