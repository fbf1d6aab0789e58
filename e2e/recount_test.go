package e2e

import (
	"math/big"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// amounts are exact quantities by resource. They are computed from the text of quantities,
// without the code of Berth or its libraries.
type amounts map[string]*big.Rat

// add adds a quantity of a resource.
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

// suffixes are the suffixes of quantities. Each multiplies the number by base to the power of exponent.
var suffixes = []struct {
	text           string
	base, exponent int64
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
		if s.exponent < 0 {
			factor.Inv(factor)
			s.exponent = -s.exponent
		}
		for range s.exponent {
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

// amountsOf returns the quantities of a list.
func amountsOf(t testing.TB, list corev1.ResourceList) amounts {
	t.Helper()
	out := amounts{}
	for name, q := range list {
		out.add(string(name), parseQuantity(t, q.String()))
	}
	return out
}

// demand returns the requests of a pod, including 1 of the resource `pods`. It supports only pods without
// init containers, overhead and pod-level resources.
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

// nodeUsage is the capacity of a node and the sum of the requests of its pods.
type nodeUsage struct {
	node           *corev1.Node
	capacity, used amounts
}

// insufficient returns the resources of which a node has less free than a pod demands.
func (u *nodeUsage) insufficient(d amounts) []string {
	var out []string
	for name, want := range d {
		if want.Sign() == 0 {
			continue
		}
		if sum := new(big.Rat).Add(u.used.of(name), want); sum.Cmp(u.capacity.of(name)) > 0 {
			out = append(out, name)
		}
	}
	return out
}

// recount adds up the requests of the pods on each node. It returns the usage of each node by name.
func recount(t testing.TB, pods []corev1.Pod, nodes []corev1.Node) map[string]*nodeUsage {
	t.Helper()
	usages := map[string]*nodeUsage{}
	for i := range nodes {
		n := &nodes[i]
		usages[n.Name] = &nodeUsage{n, amountsOf(t, n.Status.Allocatable), amounts{}}
	}
	for i := range pods {
		p := &pods[i]
		if !occupies(p) {
			continue
		}
		u := usages[p.Spec.NodeName]
		if u == nil {
			t.Errorf("pod %s/%s is on node %q, which does not exist", p.Namespace, p.Name, p.Spec.NodeName)
			continue
		}
		for name, q := range demand(t, p) {
			u.used.add(name, q)
		}
	}
	return usages
}

// checkNodeCapacity checks that the pods of each node fit its capacity, and returns the recounted usage.
func checkNodeCapacity(t testing.TB, pods []corev1.Pod, nodes []corev1.Node) map[string]*nodeUsage {
	t.Helper()
	usages := recount(t, pods, nodes)
	for name, u := range usages {
		for res, used := range u.used {
			if used.Cmp(u.capacity.of(res)) > 0 {
				t.Errorf("node %s: pods request %s of %s, want at most its capacity of %s", name, used.FloatString(3), res, u.capacity.of(res).FloatString(3))
			}
		}
	}
	return usages
}
