package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/kinds"
)

// TestInformersSync checks that client-go's informers sync for every stored kind, typed with protobuf and
// metadata-only. The typed informer of ConfigMaps receives an object created later.
func TestInformersSync(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "1")
	config := c.config()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	typed := informers.NewSharedInformerFactory(client, 0)
	metadataClient, err := metadata.NewForConfig(c.config())
	if err != nil {
		t.Fatal(err)
	}
	untyped := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	synced, stored := map[string][]cache.InformerSynced{}, 0
	for _, k := range kinds.All() {
		if k.Virtual {
			continue
		}
		stored++
		gvr := k.GroupVersion.WithResource(k.Resource)
		if k.GroupVersion == v1alpha1.GroupVersion { // client-go has no informer for it
			synced[gvr.String()] = []cache.InformerSynced{untyped.ForResource(gvr).Informer().HasSynced}
			continue
		}
		informer, err := typed.ForResource(gvr)
		if err != nil {
			t.Errorf("%s: no informer: %v", gvr, err)
			continue
		}
		synced[gvr.String()] = []cache.InformerSynced{informer.Informer().HasSynced, untyped.ForResource(gvr).Informer().HasSynced}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	for gvr, hasSynced := range synced {
		if !cache.WaitForCacheSync(ctx.Done(), hasSynced...) {
			t.Errorf("%s: informers did not sync within 2 minutes", gvr)
		}
	}
	if stored < 35 {
		t.Errorf("the table has %d stored kinds, want at least 35", stored)
	}
	late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Data: map[string]string{"a": "b"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, late, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, eventTimeout, func() error {
		_, err := typed.Core().V1().ConfigMaps().Lister().ConfigMaps("default").Get("late")
		return err
	})
}
