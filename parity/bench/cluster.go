package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/parity/workload"
)

// creators is the number of concurrent requests when objects are created.
const creators = 32

// parallel calls f for 0 to n-1, several at a time.
func parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range creators {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := f(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// createObjects creates the objects of a workload that exist before its pods arrive.
func createObjects(ctx context.Context, client kubernetes.Interface, w *workload.Workload) error {
	for _, s := range w.Services {
		if _, err := client.CoreV1().Services(s.Namespace).Create(ctx, s, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return parallel(ctx, len(w.Nodes), func(ctx context.Context, i int) error {
		_, err := client.CoreV1().Nodes().Create(ctx, w.Nodes[i], metav1.CreateOptions{})
		return err
	})
}

// create creates the arriving pods with the indexes from to to-1.
func (b *bench) create(s *server, w *workload.Workload, from, to int) error {
	return parallel(b.ctx, to-from, func(ctx context.Context, i int) error {
		pod := w.Templates[w.Pods[from+i]].DeepCopy()
		pod.Name, pod.Status = fmt.Sprintf("p-%d", from+i), corev1.PodStatus{}
		_, err := s.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// bindRoundRobin binds every new pod to the next node.
func bindRoundRobin(ctx context.Context, s *server, w *workload.Workload) (stop func(), err error) {
	client, err := newClient(s.dir + "/kubeconfig") // separate connections
	if err != nil {
		return nil, err
	}
	ctx, stop = context.WithCancel(ctx)
	created := make(chan *corev1.Pod, len(w.Pods))
	if _, err := watchPods(ctx, client, func(pod *corev1.Pod) { created <- pod }); err != nil {
		stop()
		return nil, err
	}
	var next atomic.Int64
	for range creators {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case pod := <-created:
					node := w.Nodes[int(next.Add(1))%len(w.Nodes)].Name
					if err := client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
						ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
						Target:     corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
						fmt.Fprintln(os.Stderr, "bench: the round-robin client:", err)
					}
				}
			}
		}()
	}
	return stop, nil
}

// cpuOf returns the CPU time of a process in seconds, in user and system mode; 0 for no
// process.
func cpuOf(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, afterName, _ := strings.Cut(string(raw), ") ") // the process name before it may contain spaces
	fields := strings.Fields(afterName)
	const ticks = 100 // per second; constant in Linux for /proc
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}
