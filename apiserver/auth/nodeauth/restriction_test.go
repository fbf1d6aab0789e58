package nodeauth

import (
	"context"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// write is an admission request by n1.
type write struct {
	op        admission.Operation
	resource  string // group:resource/sub
	name      string
	obj, old  runtime.Object
	namespace string
}

func (w write) attributes() admission.Attributes {
	group, path, _ := strings.Cut(w.resource, ":")
	resource, subresource, _ := strings.Cut(path, "/")
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	return admission.NewAttributesRecord(w.obj, w.old, schema.GroupVersionKind{}, w.namespace, w.name, gvr, subresource, w.op, nil, false, nodeUser("n1"))
}

// newRestriction returns a plugin for a cluster with pods local, with-tokens and bare on n1, and other on
// n2.
func newRestriction(t *testing.T) *Restriction {
	t.Helper()
	client := fake.NewClientset(pod("local", "n1"), pod("other", "n2"), podWithTokens("with-tokens", "n1"), barePod("bare", "n1"),
		node("n1", func(n *corev1.Node) { n.UID = "n1-uid" }),
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example"}, Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "cloud"}}}},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "other.example"}, Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "other"}}}},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disk.example"}, Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "disk"}}}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "c"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "unbound"}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example"}}}})
	factory := informers.NewSharedInformerFactory(client, 0)
	r := NewRestriction()
	r.SetExternalKubeClientSet(client)
	r.SetAuthorizer(authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetVerb() == "request-serviceaccounts-token-audience" && a.GetUser().GetName() == "system:node:n1" && a.GetNamespace() == "a" && a.GetName() == "web" && a.GetResource() == "granted" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}))
	r.SetExternalKubeInformerFactory(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	if err := r.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	return r
}

// barePod returns a pod without volumes.
func barePod(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "u"}, Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: "web"}}
}

// podWithTokens returns a pod with projected tokens for the API server and a vault, and with CSI
// volumes.
func podWithTokens(name, node string) *corev1.Pod {
	p := barePod(name, node)
	for _, audience := range []string{"", "vault"} {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token" + audience, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: audience}}}}}})
	}
	for _, claim := range []string{"c", "unbound", "missing"} {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	for _, driver := range []string{"csi.example", "missing.example"} {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: driver, VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver}}})
	}
	return p
}

// writeTest is a write with a part of the expected error, or "" if it is allowed.
type writeTest struct {
	write write
	want  string
}

// check checks the response of the plugin to each write.
func check(t *testing.T, cases map[string]writeTest) {
	t.Helper()
	r := newRestriction(t)
	for name, tc := range cases {
		err := r.Validate(t.Context(), tc.write.attributes(), nil)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
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

// labeled returns n1 with a label.
func labeled(key, value string) *corev1.Node {
	return node("n1", func(n *corev1.Node) { n.Labels[key] = value })
}

func TestNodeWritesOnlyItsNodeObjects(t *testing.T) {
	tainted := node("n1", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}} })
	owned := node("n1", func(n *corev1.Node) { n.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} })
	const restricted = "node-restriction.kubernetes.io/fips"
	check(t, map[string]writeTest{
		"registers":                         {write{op: "CREATE", resource: ":nodes", name: "n1", obj: node("n1", nil)}, ""},
		"registers with a taint":            {write{op: "CREATE", resource: ":nodes", name: "n1", obj: tainted}, ""},
		"registers another node":            {write{op: "CREATE", resource: ":nodes", name: "n2", obj: node("n2", nil)}, `node "n1" is not allowed to modify node "n2"`},
		"registers with a restricted label": {write{op: "CREATE", resource: ":nodes", name: "n1", obj: labeled(restricted, "true")}, `is not allowed to set the following labels: ` + restricted},
		"registers with an owner":           {write{op: "CREATE", resource: ":nodes", name: "n1", obj: owned}, "ownerReferences"},
		"heartbeat":                         {write{op: "UPDATE", resource: ":nodes/status", name: "n1", obj: node("n1", nil), old: node("n1", nil)}, ""},
		"heartbeat of another node":         {write{op: "UPDATE", resource: ":nodes/status", name: "n2", obj: node("n2", nil), old: node("n2", nil)}, "is not allowed to modify node"},
		"adds a label":                      {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labeled("disk", "ssd"), old: node("n1", nil)}, ""},
		"adds a zone label":                 {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labeled("topology.kubernetes.io/zone", "z"), old: node("n1", nil)}, ""},
		"adds a kubelet label":              {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labeled("kubelet.kubernetes.io/x", "y"), old: node("n1", nil)}, ""},
		"adds a role label":                 {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labeled("node-role.kubernetes.io/master", ""), old: node("n1", nil)}, "is not allowed to modify labels: node-role.kubernetes.io/master"},
		"adds a restricted label":           {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labeled(restricted, "true"), old: node("n1", nil)}, "is not allowed to modify labels"},
		"removes a restricted label":        {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: node("n1", nil), old: labeled(restricted, "true")}, "is not allowed to modify labels"},
		"keeps a restricted label":          {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: labeled(restricted, "true"), old: labeled(restricted, "true")}, ""},
		"removes a taint":                   {write{op: "UPDATE", resource: ":nodes", name: "n1", obj: node("n1", nil), old: tainted}, `node "n1" is not allowed to modify taints`},
		"adds a taint through status":       {write{op: "UPDATE", resource: ":nodes/status", name: "n1", obj: tainted, old: node("n1", nil)}, "is not allowed to modify taints"},
		"own lease":                         {write{op: "UPDATE", resource: "coordination.k8s.io:leases", namespace: "kube-node-lease", name: "n1", obj: &coordinationv1.Lease{}}, ""},
		"lease of another node":             {write{op: "CREATE", resource: "coordination.k8s.io:leases", namespace: "kube-node-lease", name: "n2", obj: &coordinationv1.Lease{}}, "can only access node lease with the same name as the requesting node"},
		"lease in another namespace":        {write{op: "CREATE", resource: "coordination.k8s.io:leases", namespace: "kube-system", name: "n1", obj: &coordinationv1.Lease{}}, `can only access leases in the "kube-node-lease" system namespace`},
		"CSINode of another node":           {write{op: "CREATE", resource: "storage.k8s.io:csinodes", name: "n2"}, "can only access CSINode with the same name"},
		"unrelated resource":                {write{op: "CREATE", resource: ":events", namespace: "a", name: "e"}, ""},
	})
}

func TestNodeWritesOnlyItsPods(t *testing.T) {
	mirror := func(change func(*corev1.Pod)) *corev1.Pod {
		controller := true
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "m", Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "n1-uid", Controller: &controller}}}, Spec: corev1.PodSpec{NodeName: "n1"}}
		change(p)
		return p
	}
	relabeled := pod("local", "n1")
	relabeled.Labels = map[string]string{"app": "db"}
	token := func(name, uid string) *authenticationv1.TokenRequest {
		return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(uid)}}}
	}
	eviction := func(name string) *policyv1.Eviction {
		return &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	check(t, map[string]writeTest{
		"mirror pod":                          {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(*corev1.Pod) {})}, ""},
		"plain pod":                           {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(p *corev1.Pod) { p.Annotations = nil })}, "can only create mirror pods"},
		"mirror pod on another node":          {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(p *corev1.Pod) { p.Spec.NodeName = "n2" })}, `node "n1" can only create pods with spec.nodeName set to itself`},
		"mirror pod with secrets":             {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}} })}, "can not create pods that reference secrets"},
		"mirror pod with account":             {write{op: "CREATE", resource: ":pods", namespace: "a", obj: mirror(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "s" })}, "can not create pods that reference serviceaccounts"},
		"status of its pod":                   {write{op: "UPDATE", resource: ":pods/status", namespace: "a", name: "local", obj: pod("local", "n1"), old: pod("local", "n1")}, ""},
		"status of another node's pod":        {write{op: "UPDATE", resource: ":pods/status", namespace: "a", name: "other", obj: pod("other", "n2"), old: pod("other", "n2")}, "can only update pod status for pods with spec.nodeName set to itself"},
		"labels through status":               {write{op: "UPDATE", resource: ":pods/status", namespace: "a", name: "local", obj: relabeled, old: pod("local", "n1")}, "cannot update labels through pod status"},
		"delete its pod":                      {write{op: "DELETE", resource: ":pods", namespace: "a", name: "local", old: pod("local", "n1")}, ""},
		"delete another node's pod":           {write{op: "DELETE", resource: ":pods", namespace: "a", name: "other", old: pod("other", "n2")}, "can only delete pods with spec.nodeName set to itself"},
		"evict its pod":                       {write{op: "CREATE", resource: ":pods/eviction", namespace: "a", name: "local", obj: eviction("local")}, ""},
		"evict another node's pod":            {write{op: "CREATE", resource: ":pods/eviction", namespace: "a", name: "other", obj: eviction("other")}, "can only evict pods with spec.nodeName set to itself"},
		"evict with another name in the body": {write{op: "CREATE", resource: ":pods/eviction", namespace: "a", name: "other", obj: eviction("local")}, "was posted to pod"},
		"bind its pod":                        {write{op: "CREATE", resource: ":pods/binding", namespace: "a", name: "local"}, `unexpected pod subresource "binding"`},
		"token for its pod":                   {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: token("with-tokens", "u")}, ""},
		"token for another node's pod":        {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: token("other", "u")}, "bound to a pod scheduled on a different node"},
		"token without uid":                   {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: token("local", "")}, "without a uid"},
		"token of recreated pod":              {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: token("local", "x")}, "does not match the UID in record"},
		"token not bound to a pod":            {write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: "web", obj: &authenticationv1.TokenRequest{}}, "node requested token not bound to a pod"},
	})
}

func TestMirrorPodNeedsNodeAsOwner(t *testing.T) {
	falseValue, trueValue := false, true
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "n1-uid", Controller: &trueValue}
	for name, tc := range map[string]struct {
		change func(*metav1.OwnerReference)
		owners int // number of owner references
		want   string
	}{
		"owned by the node":           {func(*metav1.OwnerReference) {}, 1, ""},
		"blockOwnerDeletion is false": {func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = &falseValue }, 1, ""},
		"no owner":                    {func(*metav1.OwnerReference) {}, 0, "with an owner reference set to itself"},
		"node as owner twice":         {func(*metav1.OwnerReference) {}, 2, "with a single owner reference set to itself"},
		"another node as owner":       {func(o *metav1.OwnerReference) { o.Name = "n2" }, 1, "with an owner reference set to itself"},
		"another kind":                {func(o *metav1.OwnerReference) { o.Kind = "Pod" }, 1, "with an owner reference set to itself"},
		"no controller":               {func(o *metav1.OwnerReference) { o.Controller = nil }, 1, "with a controller owner reference set to itself"},
		"controller is false":         {func(o *metav1.OwnerReference) { o.Controller = &falseValue }, 1, "with a controller owner reference set to itself"},
		"blocks deletion":             {func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = &trueValue }, 1, "must not set blockOwnerDeletion"},
		"UID of a deleted node":       {func(o *metav1.OwnerReference) { o.UID = "old-uid" }, 1, "node n1 UID mismatch: expected n1-uid got old-uid"},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "m", Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}}, Spec: corev1.PodSpec{NodeName: "n1"}}
		for range tc.owners {
			o := owner
			tc.change(&o)
			p.OwnerReferences = append(p.OwnerReferences, o)
		}
		err := newRestriction(t).Validate(t.Context(), write{op: "CREATE", resource: ":pods", namespace: "a", obj: p}.attributes(), nil)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
		}
	}
}

func TestTokenAudienceIsRestricted(t *testing.T) {
	const notAuthorized = "not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience"
	for name, tc := range map[string]struct {
		pod, account string
		audiences    []string
		want         string
	}{
		"no audience":                          {"with-tokens", "web", nil, ""},
		"empty audience":                       {"with-tokens", "web", []string{""}, ""},
		"audience of a projection":             {"with-tokens", "web", []string{"vault"}, ""},
		"CSI driver of an inline volume":       {"with-tokens", "web", []string{"cloud"}, ""},
		"CSI driver of a claim":                {"with-tokens", "web", []string{"disk"}, ""},
		"CSI driver of another pod":            {"with-tokens", "web", []string{"other"}, notAuthorized},
		"unknown audience":                     {"with-tokens", "web", []string{"bank"}, notAuthorized},
		"two audiences":                        {"with-tokens", "web", []string{"vault", ""}, "node may only request 0 or 1 audiences"},
		"pod without tokens":                   {"bare", "web", nil, `audience "" ` + notAuthorized},
		"vault for a pod without tokens":       {"bare", "web", []string{"vault"}, notAuthorized},
		"audience granted to the node":         {"bare", "web", []string{"granted"}, ""},
		"audience granted for another account": {"bare", "db", []string{"granted"}, notAuthorized},
	} {
		req := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: tc.audiences,
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: tc.pod, UID: "u"}}}
		err := newRestriction(t).Validate(t.Context(), write{op: "CREATE", resource: ":serviceaccounts/token", namespace: "a", name: tc.account, obj: req}.attributes(), nil)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
		}
	}
}
