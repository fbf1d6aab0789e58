// Package reports computes what the client commands and the web page report: explanations of pods and nodes, the queue,
// zones, previews of drains and of the descheduler. Its input is a cluster, dumps or a recording.
package reports
