// Package reports computes what the client commands and the web page report. It covers explanations of pods and nodes,
// the queue, zones, and previews of drains and of the descheduler. Its input is a cluster, dumps or a recording.
package reports
