package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	protobufType = "application/vnd.kubernetes.protobuf"
	pageSize     = 1000
)

// api is a fake API server. It has pages of nodes and pods as protobuf, and a watch of pods that sends changes at
// a fixed rate.
type api struct {
	o           *options
	protobuf    runtime.SerializerInfo
	nodes, pods [][]byte // encoded pages
}

func newAPI(o *options) (*api, error) {
	a := &api{o: o}
	for _, info := range scheme.Codecs.SupportedMediaTypes() {
		if info.MediaType == protobufType {
			a.protobuf = info
		}
	}
	if a.protobuf.Serializer == nil {
		return nil, errors.New("no protobuf serializer")
	}
	for first := 0; first < o.nodes; first += pageSize {
		list := &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: listMeta(first, o.nodes)}
		for i := first; i < min(first+pageSize, o.nodes); i++ {
			list.Items = append(list.Items, newNode(i))
		}
		data, err := runtime.Encode(a.protobuf.Serializer, list)
		if err != nil {
			return nil, err
		}
		a.nodes = append(a.nodes, data)
	}
	for first := 0; first < o.pods; first += pageSize {
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: listMeta(first, o.pods)}
		for i := first; i < min(first+pageSize, o.pods); i++ {
			list.Items = append(list.Items, *o.newPod(i, i%o.nodes))
		}
		data, err := runtime.Encode(a.protobuf.Serializer, list)
		if err != nil {
			return nil, err
		}
		a.pods = append(a.pods, data)
	}
	return a, nil
}

func listMeta(first, total int) metav1.ListMeta {
	out := metav1.ListMeta{ResourceVersion: "1"}
	if first+pageSize < total {
		out.Continue = strconv.Itoa(first/pageSize + 1)
	}
	return out
}

func newNode(i int) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), ResourceVersion: "1", Labels: map[string]string{
		"kubernetes.io/hostname": fmt.Sprint("node-", i), "topology.kubernetes.io/zone": fmt.Sprint("zone-", i%3), "node.kubernetes.io/instance-type": "large"}}}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("32"), "memory": resource.MustParse("128Gi"), "pods": resource.MustParse("110"), "ephemeral-storage": resource.MustParse("200Gi")}
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// newPod returns a pod of the size that pods of Deployments have.
func (o *options) newPod(i, node int) *corev1.Pod {
	name, controller := fmt.Sprintf("app-%d-7d9c5b7f4-%05d", i/20, i), true
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("team-", i%50), Name: name, UID: "0f1e2d3c-0000-0000-0000-000000000000", ResourceVersion: "1",
		Labels:          map[string]string{"app": fmt.Sprint("app-", i/20), "pod-template-hash": "7d9c5b7f4"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("app-%d-7d9c5b7f4", i/20), Controller: &controller}}}}
	priority := int32(i % 4 * 100)
	p.Spec.NodeName, p.Spec.Priority = fmt.Sprint("node-", node), &priority
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/app:1.2.3", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		"cpu": *resource.NewMilliQuantity(int64(100*(1+i%10)), resource.DecimalSI), "memory": *resource.NewQuantity(int64(1+i%8)<<28, resource.BinarySI)}},
		Env: []corev1.EnvVar{{Name: "MODE", Value: "production"}, {Name: "REGION", Value: "eu"}}}}
	p.Status.Phase, p.Status.QOSClass = corev1.PodRunning, corev1.PodQOSBurstable
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	pages := a.pods
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/selfsubjectreviews":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview","status":{"userInfo":{"username":"bench"}}}`)
		return
	case "/api/v1/nodes":
		pages = a.nodes
	case "/api/v1/pods":
	default:
		http.NotFound(w, r)
		return
	}
	if query.Get("watch") != "" {
		seconds, err := strconv.Atoi(query.Get("timeoutSeconds"))
		if err != nil {
			seconds = 60
		}
		a.watch(w, r, r.URL.Path == "/api/v1/pods", time.Duration(seconds)*time.Second)
		return
	}
	page := 0
	if text := query.Get("continue"); text != "" {
		var err error
		if page, err = strconv.Atoi(text); err != nil || page >= len(pages) {
			http.Error(w, "continue: invalid", http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", protobufType)
	_, _ = w.Write(pages[page])
}

// watch sends changes of pods to other nodes.
func (a *api) watch(w http.ResponseWriter, r *http.Request, changes bool, d time.Duration) {
	w.Header().Set("Content-Type", protobufType+";stream=watch")
	w.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(w)
	_ = flusher.Flush()
	stream := a.protobuf.StreamSerializer
	encoder := streaming.NewEncoder(stream.Framer.NewFrameWriter(w), stream.Serializer)
	end := time.After(d)
	tick := time.NewTicker(time.Second / time.Duration(max(a.o.changes, 1)))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-end:
			return
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		if !changes || a.o.changes == 0 {
			continue
		}
		n := i * 7919 % a.o.pods
		data, err := runtime.Encode(a.protobuf.Serializer, a.o.newPod(n, (n+i)%a.o.nodes))
		if err != nil {
			return
		}
		if encoder.Encode(&metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: data}}) != nil || flusher.Flush() != nil {
			return
		}
	}
}
