package localnodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/internal/cli"
)

// countReadyNodes counts the named nodes that are ready and not tainted as not ready, and the
// nodes that are not named.
func countReadyNodes(ctx context.Context, client kubernetes.Interface, names map[string]bool) (ready, others int, err error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, 0, err
	}
	for i := range list.Items {
		switch n := &list.Items[i]; {
		case !names[n.Name]:
			others++
		case isNodeUsable(n):
			ready++
		}
	}
	return ready, others, nil
}

// describeUnreadyNode describes the first of the named nodes that is not usable. It returns "" if all are.
func describeUnreadyNode(ctx context.Context, client kubernetes.Interface, names map[string]bool) string {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Sprintf("node %s is not registered yet (see the log)", name)
		}
		if isNodeUsable(n) {
			continue
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Sprintf("node %s is not ready: %s", name, c.Message)
			}
		}
		return fmt.Sprintf("node %s is ready but still tainted", name)
	}
	return ""
}

func isNodeUsable(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// progressInterval is the time between messages about nodes that are not ready.
const progressInterval = 5 * time.Second

// WaitForNodes waits until nodes and the nodes with the given names accept pods. It returns the number of other nodes.
func WaitForNodes(ctx context.Context, config *rest.Config, nodes []*corev1.Node, nodeNames []string) (others int, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	names := map[string]bool{}
	for _, n := range nodes {
		names[n.Name] = true
	}
	for _, name := range nodeNames {
		names[name] = true
	}
	bar := cli.ProgressBar{W: os.Stderr}
	defer bar.Done()
	nextMessage, lastMessage := time.Now().Add(progressInterval), ""
	// Listing thousands of nodes takes the server a while: poll less often.
	interval := 10*time.Millisecond + time.Duration(len(names))*time.Millisecond/2
	for tick := time.NewTicker(interval); ; {
		ready, others, err := countReadyNodes(ctx, client, names)
		if err == nil && ready == len(names) {
			tick.Stop()
			return others, nil
		}
		if len(names) > 100 {
			bar.Show(ready, len(names), "nodes ready")
		} else if time.Now().After(nextMessage) {
			if status := describeUnreadyNode(ctx, client, names); status != "" && status != lastMessage {
				fmt.Fprintln(os.Stderr, "berth: still waiting:", status)
				lastMessage = status
			}
			nextMessage = time.Now().Add(progressInterval)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return 0, errors.Join(err, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
