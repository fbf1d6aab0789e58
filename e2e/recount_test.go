package e2e

import (
	"math/big"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// amounts are exact quantities by resource. They are computed from the text of quantities,
// without the code of Berth or its libraries.
type amounts map[string]*big.Rat

func (a amounts) add(name string, q *big.Rat) {
	if a[name] == nil {
		a[name] = new(big.Rat)
	}
	a[name].Add(a[name], q)
}

// of returns the quantity of a resource, or 0.
func (a amounts) of(name string) *big.Rat {
	if a[name] == nil {
		return new(big.Rat)
	}
	return a[name]
}

var suffixes = []struct {
	text       string
	base, tens int64
}{
	{"Ki", 1024, 1}, {"Mi", 1024, 2}, {"Gi", 1024, 3}, {"Ti", 1024, 4}, {"Pi", 1024, 5}, {"Ei", 1024, 6},
	{"n", 1000, -3}, {"u", 1000, -2}, {"m", 1000, -1}, {"k", 1000, 1}, {"M", 1000, 2}, {"G", 1000, 3}, {"T", 1000, 4}, {"P", 1000, 5}, {"E", 1000, 6},
}

// parseQuantity parses a quantity: a decimal number with a binary or decimal suffix.
func parseQuantity(t testing.TB, text string) *big.Rat {
	t.Helper()
	scale := big.NewRat(1, 1)
	for _, s := range suffixes {
		digits, found := strings.CutSuffix(text, s.text)
		if !found {
			continue
		}
		text = digits
		factor := big.NewRat(s.base, 1)
		if s.tens < 0 {
			factor.Inv(factor)
			s.tens = -s.tens
		}
		for range s.tens {
			scale.Mul(scale, factor)
		}
		break
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("got quantity %q, want a number", text)
	}
	return n.Mul(n, scale)
}

func amountsOf(t testing.TB, list corev1.ResourceList) amounts {
	t.Helper()
	out := amounts{}
	for name, q := range list {
		out.add(string(name), parseQuantity(t, text(q)))
	}
	return out
}

// text returns a quantity as the API writes it.
func text(q resource.Quantity) string { return q.String() }

// demand returns the requests of a pod with plain containers, including 1 of `pods`. Tests
// of this package create no other pods.
func demand(t testing.TB, p *corev1.Pod) amounts {
	t.Helper()
	if len(p.Spec.InitContainers) > 0 || len(p.Spec.Overhead) > 0 || p.Spec.Resources != nil {
		t.Fatalf("pod %s/%s has init containers, overhead or pod resources, which this test does not support", p.Namespace, p.Name)
	}
	out := amounts{}
	out.add("pods", big.NewRat(1, 1))
	for i := range p.Spec.Containers {
		for name, q := range amountsOf(t, p.Spec.Containers[i].Resources.Requests) {
			out.add(name, q)
		}
	}
	return out
}

// occupies reports whether a pod uses resources of its node.
func occupies(p *corev1.Pod) bool {
	return p.Spec.NodeName != "" && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// nodeAccount is one node of a recount.
type nodeAccount struct {
	node           *corev1.Node
	capacity, used amounts
}

// insufficient returns the resources that a node has too little of for a demand.
func (a *nodeAccount) insufficient(d amounts) []string {
	var out []string
	for name, want := range d {
		if want.Sign() == 0 {
			continue
		}
		if sum := new(big.Rat).Add(a.used.of(name), want); sum.Cmp(a.capacity.of(name)) > 0 {
			out = append(out, name)
		}
	}
	return out
}

// recount adds up the requests of the pods on each node.
func recount(t testing.TB, pods []corev1.Pod, nodes []corev1.Node) map[string]*nodeAccount {
	t.Helper()
	accounts := map[string]*nodeAccount{}
	for i := range nodes {
		n := &nodes[i]
		accounts[n.Name] = &nodeAccount{n, amountsOf(t, n.Status.Allocatable), amounts{}}
	}
	for i := range pods {
		p := &pods[i]
		if !occupies(p) {
			continue
		}
		a := accounts[p.Spec.NodeName]
		if a == nil {
			t.Errorf("pod %s/%s is on node %q, which does not exist", p.Namespace, p.Name, p.Spec.NodeName)
			continue
		}
		for name, q := range demand(t, p) {
			a.used.add(name, q)
		}
	}
	return accounts
}

// checkNodeCapacity checks that no node exceeds its capacity.
func checkNodeCapacity(t testing.TB, pods []corev1.Pod, nodes []corev1.Node) map[string]*nodeAccount {
	t.Helper()
	accounts := recount(t, pods, nodes)
	for name, a := range accounts {
		for res, used := range a.used {
			if used.Cmp(a.capacity.of(res)) > 0 {
				t.Errorf("node %s is over capacity: %s of %s in use, it has %s", name, used.FloatString(3), res, a.capacity.of(res).FloatString(3))
			}
		}
	}
	return accounts
}
