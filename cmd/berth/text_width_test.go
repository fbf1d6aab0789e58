package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/berthproject/berth/agent/disk"
	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/table"
	"github.com/berthproject/berth/load"
)

const (
	longNamespace = "payments-production"
	longPod       = longNamespace + "/checkout-frontend-6d4cf56db6-x2vfq"
	longNode      = "ip-10-0-113-27.eu-central-1.compute.internal"
)

// longNames replaces the names in pendingDump by names of the lengths that cloud providers and Deployments create.
var longNames = strings.NewReplacer("name: n1", "name: "+longNode, "nodeName: n1", "nodeName: "+longNode,
	"name: n2", "name: ip-10-0-114-74.eu-central-1.compute.internal", "name: n3", "name: ip-10-0-100-0.eu-central-1.compute.internal",
	"namespace: default", "namespace: "+longNamespace, "namespace: shop", "namespace: "+longNamespace,
	"name: web-1", "name: checkout-frontend-6d4cf56db6-x2vfq", "name: big", "name: recommendation-api-76c8cb6f8f-2whcl",
	"gpu-scheduler", "default-scheduler", "/zone: a", "/zone: eu-central-1a", "/region: r", "/region: eu-central-1")

// TestTextFitsATerminal checks that the text of each command fits 80 columns, unless a single word is longer. -o wide has
// one line for each row.
func TestTextFitsATerminal(t *testing.T) {
	file := writeFile(t, "dump.yaml", longNames.Replace(pendingDump))
	for _, args := range []string{
		"queue", "zones", "explain node " + longNode, "explain node " + longNode + " --pods",
		"explain pod " + longPod, "explain pod " + longNamespace + "/recommendation-api-76c8cb6f8f-2whcl --nodes",
		"drain " + longNode + " --what-if --force", "drain " + longNode + " ip-10-0-114-74.eu-central-1.compute.internal --what-if --force",
		"simulate --until 1m --timeline all",
	} {
		out, _, err := runBerth(append(strings.Fields(args), "-f", file)...)
		if out == "" {
			t.Fatalf("berth %s: got no text and error %v, want text", args, err)
		}
		checkWidth(t, "berth "+args, out)
	}
	for name, text := range longReports() {
		var b strings.Builder
		if err := (&cli.Output{}).Print(&b, cli.Printable{Text: text}); err != nil {
			t.Fatal(err)
		}
		checkWidth(t, name, b.String())
	}
}

// checkWidth checks the lines of a text.
func checkWidth(t *testing.T, name, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		n := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
		if n > table.Width && len(strings.Fields(line)) > 1 {
			t.Errorf("%s: got a line of %d columns, want at most %d:\n%s", name, n, table.Width, line)
		}
	}
}

// longReports returns texts that are not made from a dump.
func longReports() map[string]func(io.Writer, bool) error {
	now := time.Unix(1000, 0)
	_, pod, _ := strings.Cut(longPod, "/")
	record := &journal.Displacement{Time: now, Cause: "Preemption", Pod: journal.Pod{Namespace: longNamespace, Name: pod}, Node: longNode, Writer: "default-scheduler",
		Preemptor: &journal.Pod{Namespace: longNamespace, Name: "ledger-writer-8474b96bd9-mm7kh", Priority: 1000}, Owner: &journal.Owner{Kind: "ReplicaSet", Name: "checkout-frontend-6d4cf56db6"},
		Budgets: []journal.Budget{{Name: "checkout-frontend", Before: 2, After: 1}}, Message: "preempted by a pod of higher priority, whose requests for cpu and memory fit on this node only",
		Replacement: &journal.Replacement{Name: pod, Node: longNode, Created: &now, Scheduled: &now, Ready: &now}}
	report := &descheduler.Report{Mode: descheduler.Planned, RefusalCounts: map[string]int{"would return": 1},
		Moves: []descheduler.MoveReport{{Pod: longPod, From: longNode, To: longNode, Owner: "ReplicaSet/checkout-frontend-6d4cf56db6", Strategy: "LowNodeUtilization", Profile: "default",
			Gain: &descheduler.Gain{Metric: "duplicates on the fuller of the two nodes", Before: 4, After: 3}, Outcome: "moved"}},
		Refusals: []descheduler.Refusal{{Pod: longPod, Node: longNode, Strategy: "LowNodeUtilization", Reason: "would return",
			Message: "the scheduler would put its replacement back on " + longNode + ", with a score of 600, the best of 2 nodes"}}}
	disks := &disk.Report{Node: longNode, FileSystems: []disk.FileSystem{{Names: []string{"nodefs", "imagefs"}, Dir: "/var/lib/berth/agent", Capacity: 100 << 30, Used: 40 << 30, Available: 60 << 30, Inodes: 16 << 20, InodesUsed: 1 << 20}},
		Consumers: []disk.Consumer{{Kind: disk.Image, Name: "registry.example.com/payments/checkout-frontend:v1.2.3", Bytes: 512 << 20, Inodes: 12034, Users: 2, Shared: 100 << 20},
			{Kind: disk.TerminatedContainer, Name: "main", Pod: longPod, Bytes: 100 << 20, Inodes: 20}}}
	signals := &pressure.Report{Node: longNode, At: now, Thresholds: []pressure.ThresholdReport{{Signal: "allocatableMemory.available", Resource: "memory", Known: true, Available: 5 << 30, Capacity: 32 << 30, Threshold: 100 << 20, MetSince: now.Add(-time.Hour)}},
		Resources: []pressure.ResourceReport{{Signal: "memory.available", Resource: "memory", Pods: []pressure.CandidatePod{{Pod: longPod, Known: true, Used: 1 << 30, Requested: 1 << 20, Reason: "uses more than it requests, priority 1000000", Evictable: true}}}}}
	summary := &load.Summary{Reasons: []load.Reason{{Message: "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s). preemption: not helpful", Pods: 12}},
		Utilization: []load.Utilization{{Resource: "alibabacloud.com/gpu-milli", Requested: "123456789", Allocatable: "9123456789", Percent: 12}}}
	o := explain.TextOptions{Now: now}
	return map[string]func(io.Writer, bool) error{
		"evictions": func(w io.Writer, wide bool) error {
			return explain.EvictionsText(w, []*journal.Displacement{record}, explain.TextOptions{Now: now, Wide: wide})
		},
		"explain displacement":    func(w io.Writer, _ bool) error { return explain.DisplacementText(w, record, 0, now) },
		"descheduler":             report.Text,
		"explain node --disk":     func(w io.Writer, _ bool) error { return disks.Text(w, true) },
		"explain node --pressure": func(w io.Writer, _ bool) error { return signals.Text(w, true) },
		"load":                    func(w io.Writer, _ bool) error { return summary.Print(w) },
		"queue": func(w io.Writer, _ bool) error {
			return explain.QueueText(w, []explain.PendingPod{{Pod: longPod, Scheduler: "default-scheduler", State: explain.PendingNominated, Nominated: longNode, Created: now, Since: now}}, o)
		},
	}
}

// TestWideTextHasALinePerRow checks that -o wide neither wraps rows nor hides columns.
func TestWideTextHasALinePerRow(t *testing.T) {
	file := writeFile(t, "dump.yaml", longNames.Replace(pendingDump))
	out, _, err := runBerth("queue", "-o", "wide", "-f", file)
	lines := slices.Collect(strings.Lines(out))
	if err != nil || len(lines) != 4 || lines[1] != "\n" || !strings.HasSuffix(lines[2], "NOMINATED NODE\n") || !strings.HasPrefix(lines[3], longNamespace+"/recommendation-api") {
		t.Errorf("got error %v and\n%s\nwant a headline, an empty line, a header and one row", err, out)
	}
}
