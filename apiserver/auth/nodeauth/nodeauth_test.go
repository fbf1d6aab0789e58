package nodeauth

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func nodeUser(name string) user.Info {
	return &user.DefaultInfo{Name: "system:node:" + name, Groups: []string{"system:nodes", "system:authenticated"}}
}

// pod returns a pod that references objects of each kind.
func pod(name, node string) *corev1.Pod {
	claim := "device"
	env := corev1.EnvVar{Name: "E", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "env"}}}}
	projected := &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
	}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "u"},
		Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: "web",
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
			Containers:       []corev1.Container{{Env: []corev1.EnvVar{env}}},
			ResourceClaims:   []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}},
			Volumes: []corev1.Volume{
				{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "mount"}}},
				{Name: "d", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
				{Name: "e", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
				{Name: "p", VolumeSource: corev1.VolumeSource{Projected: projected}},
			},
		},
	}
}

// sampleGraph returns a graph with one pod on n1, its volume and an attachment.
func sampleGraph() *Graph {
	g := NewGraph()
	g.SetPod(pod("p", "n1"))
	g.SetVolume(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "a", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				NodePublishSecretRef: &corev1.SecretReference{Namespace: "vault", Name: "disk"},
			}},
		},
	})
	g.SetAttachment(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n1"}})
	return g
}

// decide reports whether a request is allowed, and the reason if it is not. The request has the form
// "verb group:resource/sub namespace/name [field=value]".
func decide(t *testing.T, g *Graph, u user.Info, request string) (bool, string) {
	t.Helper()
	f := strings.Fields(request)
	a := authorizer.AttributesRecord{User: u, Verb: f[0], ResourceRequest: true}
	group, path, _ := strings.Cut(f[1], ":")
	a.APIGroup = group
	a.Resource, a.Subresource, _ = strings.Cut(path, "/")
	if len(f) > 2 {
		a.Namespace, a.Name, _ = strings.Cut(f[2], "/")
	}
	if len(f) > 3 {
		selector, err := fields.ParseSelector(f[3])
		if err != nil {
			t.Fatal(err)
		}
		a.FieldSelectorRequirements = selector.Requirements()
	}
	decision, reason, err := NewAuthorizer(g).Authorize(t.Context(), a)
	if err != nil || decision == authorizer.DecisionDeny {
		t.Errorf("%s: got decision %v, error %v, want no denial and no error", request, decision, err)
	}
	return decision == authorizer.DecisionAllow, reason
}

// requestsOfN1 are requests that n1 may make and n2 may not.
var requestsOfN1 = []string{
	"get :secrets a/pull", "get :secrets a/env", "get :secrets a/mount", "get :secrets vault/disk", "list :secrets a/mount", "watch :secrets a/mount",
	"get :configmaps a/kube-root-ca.crt", "get :persistentvolumeclaims a/data", "get :persistentvolumeclaims a/p-e",
	"patch :persistentvolumeclaims/status a/data", "get :persistentvolumes /pv", "get storage.k8s.io:volumeattachments /va",
	"create :serviceaccounts/token a/web", "get :serviceaccounts a/web", "get resource.k8s.io:resourceclaims a/device",
	"get :pods a/p", "list :pods / spec.nodeName=n1", "watch :pods / spec.nodeName=n1,status.phase=Running",
	"get :nodes /n1", "watch :nodes /n1", "get coordination.k8s.io:leases kube-node-lease/n1", "update coordination.k8s.io:leases kube-node-lease/n1",
	"get storage.k8s.io:csinodes /n1", "list resource.k8s.io:resourceslices / spec.nodeName=n1",
}

func TestNodeAccessesOnlyItsObjects(t *testing.T) {
	g := sampleGraph()
	for _, request := range requestsOfN1 {
		if ok, reason := decide(t, g, nodeUser("n1"), request); !ok {
			t.Errorf("n1: %s: got a rejection (%s), want none", request, reason)
		}
		if ok, reason := decide(t, g, nodeUser("n2"), request); ok || reason == "" {
			t.Errorf("n2: %s: got allowed %v, reason %q, want a rejection with a reason", request, ok, reason)
		}
	}
}

func TestNodeAccessEndsWithLastPod(t *testing.T) {
	g := sampleGraph()
	g.SetPod(pod("q", "n1"))
	g.DeletePod(pod("p", "n1"))
	if ok, _ := decide(t, g, nodeUser("n1"), "get :secrets a/mount"); !ok {
		t.Error("get of the secret: got a rejection, want none because of pod q")
	}
	g.SetPod(pod("q", "n2")) // recreated on another node
	for _, request := range []string{"get :secrets a/mount", "get :secrets vault/disk", "get :persistentvolumes /pv", "get :pods a/q"} {
		if ok, _ := decide(t, g, nodeUser("n1"), request); ok {
			t.Errorf("%s: got allowed without a pod on the node, want a rejection", request)
		}
		if ok, _ := decide(t, g, nodeUser("n2"), request); !ok {
			t.Errorf("%s: got a rejection for the new node, want none", request)
		}
	}
	g.DeletePod(pod("q", "n2"))
	g.DeleteVolume(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}})
	g.DeleteAttachment(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va"}})
	if len(g.pods)+len(g.users)+len(g.volumes)+len(g.secretVolumes)+len(g.attachments) != 0 {
		t.Errorf("after all deletions: got graph %+v, want an empty one", g)
	}
}

func TestNodeAuthorizerDecisions(t *testing.T) {
	g := sampleGraph()
	for request, want := range map[string]bool{
		"create :nodes":                      true,
		"patch :nodes/status /n1":            true,
		"update :nodes /n1":                  true,
		"delete :nodes /n1":                  false,
		"list :nodes":                        false,
		"list :pods":                         false,
		"list :pods a/":                      false,
		"list :pods / spec.nodeName!=n1":     false,
		"list :secrets a/":                   false,
		"list :secrets":                      false,
		"update :secrets a/mount":            false,
		"create :pods a/":                    true, // Restriction checks mirror pods
		"delete :pods a/p":                   true,
		"deletecollection :pods a/":          false,
		"patch :pods/status a/p":             true,
		"update :pods a/p":                   false,
		"create :pods/eviction a/p":          true,
		"create :pods/binding a/p":           false,
		"create :events a/":                  true,
		"list :services":                     true,
		"get :configmaps a/other":            false,
		"get coordination.k8s.io:leases a/x": false,
		"create coordination.k8s.io:leases kube-node-lease/": true,
		"list coordination.k8s.io:leases kube-node-lease/":   false,
		"get apps:deployments a/x":                           false,
		"create authentication.k8s.io:tokenreviews":          true,
	} {
		if got, reason := decide(t, g, nodeUser("n1"), request); got != want {
			t.Errorf("%s: got allowed %v (%s), want %v", request, got, reason, want)
		}
	}
}

func TestNodeIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		u      user.Info
		node   string
		isNode bool
	}{
		"node":           {nodeUser("n1"), "n1", true},
		"without group":  {&user.DefaultInfo{Name: "system:node:n1"}, "", false},
		"without prefix": {&user.DefaultInfo{Name: "n1", Groups: []string{"system:nodes"}}, "", false},
		"without name":   {&user.DefaultInfo{Name: "system:node:", Groups: []string{"system:nodes"}}, "", true},
		"no user":        {nil, "", false},
	} {
		if node, isNode := NodeIdentity(tc.u); node != tc.node || isNode != tc.isNode {
			t.Errorf("%s: got %q, %v; want %q, %v", name, node, isNode, tc.node, tc.isNode)
		}
	}
	if ok, _ := decide(t, sampleGraph(), &user.DefaultInfo{Name: "system:node:n1"}, "get :secrets a/mount"); ok {
		t.Error("user outside of system:nodes: allowed to get a secret, want a rejection")
	}
}
