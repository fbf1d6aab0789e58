package nodeauth

import (
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// write is one admission request of n1.
type write struct {
	op        admission.Operation
	resource  string // group:resource/sub
	name      string
	obj, old  runtime.Object
	namespace string
}

func (w write) attributes() admission.Attributes {
	group, rest, _ := strings.Cut(w.resource, ":")
	res, sub, _ := strings.Cut(rest, "/")
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: res}
	return admission.NewAttributesRecord(w.obj, w.old, schema.GroupVersionKind{}, w.namespace, w.name, gvr, sub, w.op, nil, false, nodeUser("n1"))
}

func newRestriction(t *testing.T) *Restriction {
	t.Helper()
	client := fake.NewClientset(pod("mine", "n1"), pod("other", "n2"))
	factory := informers.NewSharedInformerFactory(client, 0)
	r := NewRestriction()
	r.SetExternalKubeClientSet(client)
	r.SetExternalKubeInformerFactory(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	if err := r.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	return r
}

func check(t *testing.T, cases map[string]struct {
	w    write
	want string
}) {
	t.Helper()
	r := newRestriction(t)
	for name, tc := range cases {
		err := r.Validate(t.Context(), tc.w.attributes(), nil)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

func node(name string, change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": "x"}}}
	if change != nil {
		change(n)
	}
	return n
}

func labelled(key, value string) *corev1.Node {
	return node("n1", func(n *corev1.Node) { n.Labels[key] = value })
}

func TestANodeWritesItsOwnNodeOnly(t *testing.T) {
	tainted := node("n1", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}} })
	owned := node("n1", func(n *corev1.Node) { n.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} })
	const restricted = "node-restriction.kubernetes.io/fips"
	check(t, map[string]struct {
		w    write
		want string
	}{
		"registers":                 {write{op: "CREATE", resource: ":nodes", name: "n1", obj: node("n1", nil)}, ""},
		"registers with a taint":    {write{op: "CREATE", resource: ":nodes", name: "n1", obj: tainted}, ""},
		"registers another":         {write{op: "CREATE", resource: ":nodes", name: "n2", obj: node("n2", nil)}, `node "n1" is not allowed to modify node "n2"`},
		"registers restricted":      {write{op: "CREATE", resource: ":nodes", name: "n1", obj: labelled(restricted, "true")}, `is not allowed to set the following labels: ` + restricted},
		"registers owned":           {write{op: "CREATE", resource: ":nodes", name: "n1", obj: owned}, "ownerReferences"},
		"heartbeat":                 {write{op: "UPDATE", resource: ":nodes/status", name: "n1", obj: node("n1", nil), old: node("n1", nil)}, ""},
		"heartbeat of another":      {write{op: "UPDATE", resource: ":nodes/status", name: "n2", obj: node("n2", nil), old: node("n2", nil)}, "is not allowed to modify node"},
		"label of its own":          {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labelled("disk", "ssd"), old: node("n1", nil)}, ""},
		"zone":                      {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labelled("topology.kubernetes.io/zone", "z"), old: node("n1", nil)}, ""},
		"kubelet label":             {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labelled("kubelet.kubernetes.io/x", "y"), old: node("n1", nil)}, ""},
		"role label":                {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labelled("node-role.kubernetes.io/master", ""), old: node("n1", nil)}, "is not allowed to modify labels: node-role.kubernetes.io/master"},
		"takes a restricted label":  {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labelled(restricted, "true"), old: node("n1", nil)}, "is not allowed to modify labels"},
		"drops a restricted label":  {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: node("n1", nil), old: labelled(restricted, "true")}, "is not allowed to modify labels"},
		"keeps a restricted label":  {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labelled(restricted, "true"), old: labelled(restricted, "true")}, ""},
		"takes off a taint":         {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: node("n1", nil), old: tainted}, `node "n1" is not allowed to modify taints`},
		"taints by way of status":   {write{op: "UPDATE", resource: ":nodes/status", name: "n1", obj: tainted, old: node("n1", nil)}, "is not allowed to modify taints"},
		"lease":                     {write{op: "UPDATE", resource: "coordination.k8s.io:leases", namespace: "kube-node-lease", name: "n1", obj: &coordinationv1.Lease{}}, ""},
		"lease of another":          {write{op: "CREATE", resource: "coordination.k8s.io:leases", namespace: "kube-node-lease", name: "n2", obj: &coordinationv1.Lease{}}, "can only access node lease with the same name as the requesting node"},
		"lease elsewhere":           {write{op: "CREATE", resource: "coordination.k8s.io:leases", namespace: "kube-system", name: "n1", obj: &coordinationv1.Lease{}}, `can only access leases in the "kube-node-lease" system namespace`},
		"CSINode of another":        {write{op: "CREATE", resource: "storage.k8s.io:csinodes", name: "n2"}, "can only access CSINode with the same name"},
		"what is not for the check": {write{op: "CREATE", resource: ":events", namespace: "a", name: "e"}, ""},
	})
}

func TestANodeWritesItsOwnPodsOnly(t *testing.T) {
	mirror := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "m", Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}}, Spec: corev1.PodSpec{NodeName: "n1"}}
		change(p)
		return p
	}
	relabelled := pod("mine", "n1")
	relabelled.Labels = map[string]string{"app": "db"}
	token := func(name, uid string) *authenticationv1.TokenRequest {
		return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(uid)}}}
	}
	eviction := func(name string) *policyv1.Eviction {
		return &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	check(t, map[string]struct {
		w    write
		want string
	}{
		"mirror pod":               {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(*corev1.Pod) {})}, ""},
		"plain pod":                {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(p *corev1.Pod) { p.Annotations = nil })}, "can only create mirror pods"},
		"mirror pod elsewhere":     {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(p *corev1.Pod) { p.Spec.NodeName = "n2" })}, `node "n1" can only create pods with spec.nodeName set to itself`},
		"mirror pod with secrets":  {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}} })}, "can not create pods that reference secrets"},
		"mirror pod with account":  {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "s" })}, "can not create pods that reference serviceaccounts"},
		"status":                   {write{op: "UPDATE", resource: ":pods/status", namespace: "a", name: "mine", obj: pod("mine", "n1"), old: pod("mine", "n1")}, ""},
		"status of another's":      {write{op: "UPDATE", resource: ":pods/status", namespace: "a", name: "other", obj: pod("other", "n2"), old: pod("other", "n2")}, "can only update pod status for pods with spec.nodeName set to itself"},
		"labels through status":    {write{op: "UPDATE", resource: ":pods/status", namespace: "a", name: "mine", obj: relabelled, old: pod("mine", "n1")}, "cannot update labels through pod status"},
		"delete":                   {write{op: "DELETE", resource: ":pods", namespace: "a", name: "mine", old: pod("mine", "n1")}, ""},
		"delete another's":         {write{op: "DELETE", resource: ":pods", namespace: "a", name: "other", old: pod("other", "n2")}, "can only delete pods with spec.nodeName set to itself"},
		"evict":                    {write{op: "CREATE", resource: ":pods/eviction", namespace: "a", name: "mine", obj: eviction("mine")}, ""},
		"evict another's":          {write{op: "CREATE", resource: ":pods/eviction", namespace: "a", name: "other", obj: eviction("other")}, "can only evict pods with spec.nodeName set to itself"},
		"evict under a false name": {write{op: "CREATE", resource: ":pods/eviction", namespace: "a", name: "other", obj: eviction("mine")}, "was posted to pod"},
		"bind":                     {write{op: "CREATE", resource: ":pods/binding", namespace: "a", name: "mine"}, `unexpected pod subresource "binding"`},
		"token":                    {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: token("mine", "u")}, ""},
		"token for another's":      {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: token("other", "u")}, "bound to a pod scheduled on a different node"},
		"token without uid":        {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: token("mine", "")}, "without a uid"},
		"token of another life":    {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: token("mine", "x")}, "does not match the UID in record"},
		"token of no pod":          {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: &authenticationv1.TokenRequest{}}, "node requested token not bound to a pod"},
	})
}
