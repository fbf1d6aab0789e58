package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/parity/workload"
)

// findings collects the results of the checks.
type findings struct {
	errors []string
}

func (f *findings) errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

// print prints up to 20 errors and returns their number as an error, if there are any.
func (f *findings) print() error {
	for i, message := range f.errors {
		if i < 20 {
			fmt.Println("ERROR:", message)
		}
	}
	if n := len(f.errors); n > 0 {
		return fmt.Errorf("%d errors", n)
	}
	fmt.Println("all checks passed")
	return nil
}

// unsettledPods returns the pods that are not yet in their expected state.
func (c *cluster) unsettledPods(ctx context.Context) ([]string, error) {
	pods, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	expectPending := map[string]bool{}
	for _, g := range groups() {
		expectPending[g.app] = g.pending
	}
	var names []string
	for _, p := range pods.Items {
		done := p.Spec.NodeName != "" && p.DeletionTimestamp == nil
		if expectPending[p.Labels["app"]] {
			done = isUnschedulable(&p)
		}
		if !done {
			names = append(names, p.Name)
		}
	}
	return names, nil
}

func isUnschedulable(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && c.Message != ""
	})
}

// check checks the outcome of the pods.
func (c *cluster) check(ctx context.Context, f *findings, controllers *fakeControllers) error {
	pods, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	events, err := c.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	claims, err := c.client.CoreV1().PersistentVolumeClaims("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	nodes := map[string]*corev1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	byApp := map[string][]*corev1.Pod{}
	for i := range pods.Items {
		p := &pods.Items[i]
		byApp[p.Labels["app"]] = append(byApp[p.Labels["app"]], p)
	}
	f.checkCapacity(pods.Items, nodes)
	f.checkPlacement(byApp, nodes)
	f.checkVolumes(byApp["volume"], claims.Items)
	f.checkVictims(byApp, events.Items, controllers)
	f.checkEvents(byApp, events.Items)
	placed := 0
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" {
			placed++
		}
	}
	fmt.Printf("%d placed, %d of them by preemption of %d victims, %d rejected with a reason, %d with volume claims\n",
		placed, len(byApp["high"]), len(controllers.deleted), len(byApp["too-big"]), len(byApp["volume"]))
	return nil
}

// checkCapacity compares the sums of the requests with the capacity of the nodes. Each node may have one pod with a
// host port.
func (f *findings) checkCapacity(pods []corev1.Pod, nodes map[string]*corev1.Node) {
	cpu, memory, ports := map[string]int64{}, map[string]int64{}, map[string]int{}
	for _, p := range pods {
		n := p.Spec.NodeName
		cpu[n] += p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		memory[n] += p.Spec.Containers[0].Resources.Requests.Memory().Value()
		ports[n] += len(p.Spec.Containers[0].Ports)
	}
	for name, n := range nodes {
		if a := n.Status.Allocatable; cpu[name] > a.Cpu().MilliValue() || memory[name] > a.Memory().Value() || ports[name] > 1 {
			f.errorf("node %s: %dm of %v cpu, %d of %v memory, port 8080 used %d times", name, cpu[name], a.Cpu(), memory[name], a.Memory(), ports[name])
		}
	}
}

// checkPlacement checks that the pods of each group are on nodes that the group requires.
func (f *findings) checkPlacement(byApp map[string][]*corev1.Pod, nodes map[string]*corev1.Node) {
	count := func(app, label string) map[string]int {
		counts := map[string]int{}
		for _, p := range byApp[app] {
			if n := nodes[p.Spec.NodeName]; n != nil {
				counts[n.Labels[label]]++
			}
		}
		return counts
	}
	for _, g := range groups() {
		got := len(byApp[g.app])
		if want := g.count; got != want && g.app != "low" {
			f.errorf("%s: got %d pods, want %d", g.app, got, want)
		}
	}
	if z := count("zones", workload.Zone); z["zone-2"] > 0 {
		f.errorf("zones: got %v, want none in zone-2", z)
	}
	if h := count("apart", workload.Host); len(h) != len(byApp["apart"]) {
		f.errorf("anti-affinity: %d pods on %d nodes, want one per node", len(byApp["apart"]), len(h))
	}
	if z := count("together", workload.Zone); len(z) != 1 {
		f.errorf("affinity: got zones %v, want one", z)
	}
	if z := slices.Sorted(maps.Values(count("spread", workload.Zone))); len(z) != 3 || z[2]-z[0] > 1 {
		f.errorf("spread: got %v in the zones, want a skew of at most 1", z)
	}
	if p := count("high", poolLabel); p["full"] != len(byApp["high"]) {
		f.errorf("high priority: got pools %v, want all in full", p)
	}
}

// checkVolumes checks that every pod with a claim is on the node of its volume.
func (f *findings) checkVolumes(pods []*corev1.Pod, claims []corev1.PersistentVolumeClaim) {
	volumeOf := map[string]string{}
	for _, c := range claims {
		volumeOf[c.Name] = c.Spec.VolumeName
	}
	for _, p := range pods {
		var volume, node int
		claim := p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName
		_, err := fmt.Sscanf(volumeOf[claim], "volume-%d", &volume)
		if _, err2 := fmt.Sscanf(p.Spec.NodeName, "node-%d", &node); err != nil || err2 != nil || volume != node {
			f.errorf("%s: on node %q, but the volume of %s is %q, want that of the node", p.Name, p.Spec.NodeName, claim, volumeOf[claim])
		}
	}
}

// checkVictims checks that each victim got the condition and one event.
func (f *findings) checkVictims(byApp map[string][]*corev1.Pod, events []corev1.Event, controllers *fakeControllers) {
	counts := map[string]int{}
	for _, e := range events {
		if e.Reason == "Preempted" {
			counts[e.InvolvedObject.Name]++
		}
	}
	if deleted, remaining := len(controllers.deleted), len(byApp["low"]); deleted+remaining != fullNodes*victims || deleted != len(byApp["high"]) {
		f.errorf("%d pods of low priority were deleted and %d of %d remain; %d preemptors need one each", deleted, remaining, fullNodes*victims, len(byApp["high"]))
	}
	for name := range controllers.deleted {
		if !controllers.preempted[name] {
			f.errorf("%s was deleted without the condition DisruptionTarget", name)
		}
		if counts[name] != 1 {
			f.errorf("%s was deleted with %d events Preempted, want 1", name, counts[name])
		}
	}
}

// checkEvents checks that every pending pod has an event with a reason, and every placed pod one
// Scheduled event.
func (f *findings) checkEvents(byApp map[string][]*corev1.Pod, events []corev1.Event) {
	failed, scheduled := map[string]string{}, map[string]int{}
	for _, e := range events {
		switch e.Reason {
		case "FailedScheduling":
			failed[e.InvolvedObject.Name] = e.Message
		case "Scheduled":
			scheduled[e.InvolvedObject.Name]++
		}
	}
	for app, pods := range byApp {
		for _, p := range pods {
			if app == "too-big" && !strings.Contains(failed[p.Name], "Insufficient cpu") {
				f.errorf("%s: event FailedScheduling has message %q, want Insufficient cpu", p.Name, failed[p.Name])
			}
			if app != "too-big" && scheduled[p.Name] != 1 {
				f.errorf("%s: %d events Scheduled, want 1", p.Name, scheduled[p.Name])
			}
		}
	}
	fmt.Println("message of an unschedulable pod:", failed["too-big-0"])
}

// checkExplain runs berth explain for a pending and a placed pod.
func checkExplain(ctx context.Context, f *findings, berth, kubeconfig, config string) {
	for pod, want := range map[string]string{"default/too-big-0": "cpu", "default/high-0": "node-"} {
		cmd := exec.CommandContext(ctx, berth, "explain", "pod", pod, "--kubeconfig", kubeconfig, "--config", config)
		cmd.Env = append(os.Environ(), "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			f.errorf("berth explain pod %s: %v: %s", pod, err, out)
			continue
		}
		fmt.Printf("berth explain pod %s:\n", pod)
		for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if i < 8 {
				fmt.Println("   ", line)
			}
		}
	}
}
