package plain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/cgroup"
)

// Pod is a process in a cgroup of its own.
type Pod struct {
	Object *corev1.Pod
	node   *Node
	cmd    *exec.Cmd
	out    *bufio.Reader
	gone   chan struct{}
}

// Spec is what a pod is to be.
type Spec struct {
	Name     string
	Priority int32
	Memory   string   // request, e.g. 64Mi; "" for none: the pod is BestEffort
	Args     []string // of agent/workload
	// OOMScoreAdj is how likely the kernel is to choose it, 0 to 1000.
	OOMScoreAdj int
}

// Run makes a pod and starts its process, which is in the cgroup before it works.
func (n *Node) Run(s Spec) (*Pod, error) {
	p := &Pod{Object: s.object(), node: n, gone: make(chan struct{})}
	if err := n.Host.Make(n.Cgroup(p.Object), cgroup.Limits{}); err != nil {
		return nil, err
	}
	p.cmd = exec.Command("/proc/self/exe", s.Args...)
	p.cmd.Env = append(os.Environ(), joinEnv+"="+strings.Join(n.dirs(p.Object), ":"), "GOMAXPROCS=1")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", s.Name, err)
	}
	p.out = bufio.NewReader(out)
	if s.OOMScoreAdj != 0 {
		name := fmt.Sprintf("/proc/%d/oom_score_adj", p.cmd.Process.Pid)
		if err := os.WriteFile(name, []byte(strconv.Itoa(s.OOMScoreAdj)), 0); err != nil {
			return nil, fmt.Errorf("pod %s: %w", s.Name, err)
		}
	}
	go func() {
		_, _ = p.cmd.Process.Wait()
		close(p.gone)
	}()
	n.mu.Lock()
	n.pods = append(n.pods, p)
	n.mu.Unlock()
	return p, nil
}

// dirs are the cgroup's directories that a process joins.
func (n *Node) dirs(pod *corev1.Pod) []string { return n.Host.Joins(n.Cgroup(pod)) }

func (s Spec) object() *corev1.Pod {
	uid := fmt.Sprintf("%s-%d", s.Name, made.Add(1))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.Name, UID: types.UID(uid), ResourceVersion: "1", CreationTimestamp: metav1.Now()},
		Spec: corev1.PodSpec{Priority: &s.Priority, Containers: []corev1.Container{{Name: "main", Image: "plain"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBestEffort},
	}
	if s.Memory != "" {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(s.Memory)}
		pod.Status.QOSClass = corev1.PodQOSBurstable
	}
	return pod
}

// Said waits for a line of what the process prints, such as "memory done".
func (p *Pod) Said(line string) error {
	for {
		text, err := p.out.ReadString('\n')
		if strings.TrimSpace(text) == line {
			return nil
		}
		if errors.Is(err, io.EOF) || err != nil {
			return fmt.Errorf("pod %s ended without saying %q: %w", p.Object.Name, line, err)
		}
	}
}

// Gone is closed when the process has ended.
func (p *Pod) Gone() <-chan struct{} { return p.gone }

// Forget kills what is left of the pod and removes its cgroup.
func (p *Pod) Forget() error {
	err := p.node.Host.Kill(p.node.Cgroup(p.Object))
	p.wait()
	n := p.node
	n.mu.Lock()
	for i := range n.pods {
		if n.pods[i] == p {
			n.pods = append(n.pods[:i:i], n.pods[i+1:]...)
			break
		}
	}
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(err, n.Host.Remove(ctx, n.Cgroup(p.Object)))
}

// wait waits until the process is gone. It is killed by itself, too: it may have
// been killed before it was in its cgroup.
func (p *Pod) wait() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
	}
	<-p.gone
}

func (p *Pod) term() {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
}

// Adopt makes a pod whose processes somebody else starts in its cgroup, and of
// whose end Ended tells.
func (n *Node) Adopt(s Spec) (*Pod, error) {
	p := &Pod{Object: s.object(), node: n, gone: make(chan struct{})}
	if err := n.Host.Make(n.Cgroup(p.Object), cgroup.Limits{}); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods = append(n.pods, p)
	return p, nil
}

// Ended says, once, that nothing of an adopted pod runs any more.
func (p *Pod) Ended() { close(p.gone) }
