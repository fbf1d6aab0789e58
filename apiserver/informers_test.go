package apiserver_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/kinds"
)

// TestInformersSync checks that client-go informers of every kind sync over the network and over the loopback
// client.
func TestInformersSync(t *testing.T) {
	server := start(t)
	admin, err := clientcmd.BuildConfigFromFlags("", server.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*rest.Config{"network": admin, "in process": server.LoopbackConfig()} {
		config.QPS = -1
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
		hasSynced := map[string]cache.InformerSynced{}
		for _, k := range kinds.All() {
			if k.Virtual || k.GroupVersion == v1alpha1.GroupVersion { // client-go has no informers for these
				continue
			}
			resource := k.GroupVersion.WithResource(k.Resource)
			informer, err := factory.ForResource(resource)
			if err != nil {
				t.Errorf("%s: %v", resource, err)
				continue
			}
			hasSynced[resource.String()] = informer.Informer().HasSynced
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		factory.Start(ctx.Done())
		for resource, synced := range hasSynced {
			if cache.WaitForCacheSync(ctx.Done(), synced); !synced() {
				t.Errorf("%s: the informer of %s did not sync within a minute", name, resource)
			}
		}
		cancel()
		factory.Shutdown()
	}
}
