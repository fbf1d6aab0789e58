package scheduler

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berthproject/berth/internal/config"
)

// bindingExtender is an extender that binds and chooses its own victims.
type bindingExtender struct {
	client *fake.Clientset
	mu     sync.Mutex
	bound  []string
}

func (b *bindingExtender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var response any
	switch r.URL.Path {
	case "/bind":
		var args extenderv1.ExtenderBindingArgs
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		// Record the call before binding: the test may check as soon as the pod is bound.
		b.mu.Lock()
		b.bound = append(b.bound, args.PodName)
		b.mu.Unlock()
		err := b.client.CoreV1().Pods(args.PodNamespace).Bind(r.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: args.Node}}, metav1.CreateOptions{})
		result := extenderv1.ExtenderBindingResult{}
		if err != nil {
			result.Error = err.Error()
		}
		response = result
	case "/preempt":
		var args extenderv1.ExtenderPreemptionArgs
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		result := extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: args.NodeNameToMetaVictims}
		for _, v := range result.NodeNameToMetaVictims { // both pods of low priority
			v.Pods = []*extenderv1.MetaPod{{UID: "low1"}, {UID: "low2"}}
		}
		response = result
	}
	_ = json.NewEncoder(w).Encode(response)
}

func TestExtenderBindAndPreemption(t *testing.T) {
	client := cluster("2")
	b := &bindingExtender{client: client}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	s, stop := start(t, client, client, nil, func(o *Options) {
		o.Extenders = config.Extenders{{URL: server.URL, Preempt: "preempt", Bind: "bind", NodeCacheCapable: true, Timeout: 10 * time.Second}}
	})
	for _, name := range []string{"low1", "low2"} {
		create(t, client, name, "1", priority(1))
		eventually(t, name+" is bound", func() bool { return get(t, client, name).Spec.NodeName == "n1" })
	}
	create(t, client, "high", "1", priority(1000))
	eventually(t, "high is bound", func() bool { return get(t, client, "high").Spec.NodeName == "n1" })
	eventually(t, "both victims are deleted", func() bool {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items) == 1
	})
	b.mu.Lock()
	if got := strings.Join(b.bound, " "); got != "low1 low2 high" {
		t.Errorf("the extender bound %q, want low1 low2 high", got)
	}
	b.mu.Unlock()
	eventually(t, "the victims are counted", func() bool {
		return values(scrape(s, "good").Body.String())[`scheduler_preemption_victims_sum`] == "2"
	})
	if page := getPath(s, "/debug/pods/default/high").Body.String(); !strings.Contains(page, "call extenders for victims") || !strings.Contains(page, "victims default/low1, default/low2") {
		t.Errorf("got decisions %s\nwant victims low1 and low2", page)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
