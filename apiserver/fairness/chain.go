package fairness

import (
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	flowcontrolrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// Configure makes the server of c limit its concurrent requests with priority and fairness. The
// limit is the sum of c's limits of reads and writes. check checks the bodies of requests before they are decoded.
func Configure(c *genericapiserver.Config, client kubernetes.Interface, shared informers.SharedInformerFactory, check bodyCheck) {
	c.FlowControl = utilflowcontrol.New(shared, client.FlowcontrolV1(), c.MaxRequestsInFlight+c.MaxMutatingRequestsInFlight)
	budget := newBodyBudget(bodyUse{maxBytesPerUser, maxBodiesPerUser}, bodyUse{maxBytes, maxBodies})
	c.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		estimate := flowcontrolrequest.NewWorkEstimator(c.StorageObjectCountTracker.Get, c.FlowControl.GetInterestedWatchCount,
			flowcontrolrequest.DefaultWorkEstimatorConfig(), c.FlowControl.GetMaxSeats)
		handler = withCheck(handler, c.Serializer, c.MaxRequestBodyBytes, check)
		handler = genericfilters.WithPriorityAndFairness(handler, c.LongRunningFunc, c.FlowControl, estimate, c.RequestTimeout/4)
		handler = withBody(handler, c.LongRunningFunc, c.Serializer, budget, c.MaxRequestBodyBytes)
		// The other filters run before these. Without limits, the default chain adds none.
		outer := *c
		outer.FlowControl, outer.MaxRequestsInFlight, outer.MaxMutatingRequestsInFlight = nil, 0, 0
		return genericapiserver.DefaultBuildHandlerChain(handler, &outer)
	}
}
