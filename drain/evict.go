package drain

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/engine/model"
)

// evict asks the API server for an eviction.
func evict(ctx context.Context, client kubernetes.Interface, p *model.Pod, grace *int64) Answer {
	a := actuate.Evict(ctx, client, actuate.Eviction{Pod: p, Grace: grace})
	return Answer{Granted: a.Granted, Words: a.Words, Final: a.Final}
}
