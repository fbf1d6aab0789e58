package drain

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/executor"
)

// evict requests an eviction from the API server.
func evict(ctx context.Context, client kubernetes.Interface, p *model.Pod, grace *int64) EvictionResult {
	result := executor.Evict(ctx, client, executor.Eviction{Pod: p, Grace: grace})
	return EvictionResult{Granted: result.Granted, Message: result.Message, Permanent: result.Permanent}
}
