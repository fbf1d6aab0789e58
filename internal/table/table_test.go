package table

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWrite(t *testing.T) {
	table := New(Columns("POD", "NODE"), WideColumns("OWNER"))
	table.AddRow("default/web-1", "n1", "ReplicaSet/web")
	table.AddRow("p", "", "")
	for wide, want := range map[bool]string{
		false: "POD            NODE\ndefault/web-1  n1\np\n",
		true:  "POD            NODE  OWNER\ndefault/web-1  n1    ReplicaSet/web\np\n",
	} {
		var b strings.Builder
		if err := table.Write(&b, wide); err != nil || b.String() != want {
			t.Errorf("wide %v: got error %v and\n%s\nwant\n%s", wide, err, b.String(), want)
		}
	}
}

const (
	pod       = "shop/web-6d4cf56db6-x2vfq"
	longPod   = "payments-production/checkout-frontend-6d4cf56db6-x2vfq"
	node      = "ip-10-0-113-27"
	longNode  = "ip-10-0-113-27.eu-central-1.compute.internal"
	message   = "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s)"
	priority  = "1000"
	condition = "unschedulable"
)

func TestRowsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		key            int
		columns, cells []string
		want           string
	}{
		"text at the right": {1, []string{"POD", "WAITS FOR"}, []string{pod, message}, `
POD                        WAITS FOR
shop/web-6d4cf56db6-x2vfq  0/5 nodes are available: 2 Insufficient cpu, 3
                           node(s) had untolerated taint(s)
`},
		"key above": {1, []string{"POD", "PRIORITY", "STATE", "WAITS FOR"}, []string{longPod, priority, condition, message}, `
POD
  PRIORITY  STATE          WAITS FOR
payments-production/checkout-frontend-6d4cf56db6-x2vfq
  1000      unschedulable  0/5 nodes are available: 2 Insufficient cpu, 3
                           node(s) had untolerated taint(s)
`},
		"key of two columns": {2, []string{"ROUND", "POD", "TO", "NOTE"}, []string{"1", longPod, longNode, "pending"}, `
ROUND  POD
  TO                                            NOTE
1      payments-production/checkout-frontend-6d4cf56db6-x2vfq
  ip-10-0-113-27.eu-central-1.compute.internal  pending
`},
		"only a key": {1, []string{"POD", "NOMINATED ON NODE", "WAITS FOR"}, []string{longPod, "-", ""}, `
POD
  NOMINATED ON NODE  WAITS FOR
payments-production/checkout-frontend-6d4cf56db6-x2vfq
`},
		"blocks": {1, []string{"POD", "FROM", "TO", "GAIN", "WAITS FOR"}, []string{longPod, longNode, longNode, "-", message}, `
POD
payments-production/checkout-frontend-6d4cf56db6-x2vfq
  From:       ip-10-0-113-27.eu-central-1.compute.internal
  To:         ip-10-0-113-27.eu-central-1.compute.internal
  Waits for:  0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had
              untolerated taint(s)
`},
		"a word that is too long": {1, []string{"POD", "PRIORITY", "NODE", "NOTE"}, []string{pod, priority, node, "blocked until " + longPod + " is Ready"}, `
POD
shop/web-6d4cf56db6-x2vfq
  Priority:  1000
  Node:      ip-10-0-113-27
  Note:      blocked until
             payments-production/checkout-frontend-6d4cf56db6-x2vfq is Ready
`},
		"no header": {1, []string{"", ""}, []string{"  message", message}, `
  message  0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had
           untolerated taint(s)
`},
	} {
		table := New(Columns(c.columns...), nil)
		table.Key = c.key
		table.AddRow(c.cells...)
		var b strings.Builder
		if err := table.Write(&b, false); err != nil || "\n"+b.String() != c.want {
			t.Errorf("%s: got error %v and\n%s\nwant%s", name, err, b.String(), c.want)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(line) - 1; n > Width {
				t.Errorf("%s: got a line of %d columns, want at most %d: %s", name, n, Width, line)
			}
		}
		b.Reset()
		lines := 2
		if c.columns[0] == "" {
			lines = 1
		}
		if err := table.Write(&b, true); err != nil || strings.Count(b.String(), "\n") != lines {
			t.Errorf("%s, wide: got error %v and\n%s\nwant %d lines", name, err, b.String(), lines)
		}
	}
}
