// Package diskusage measures what directories hold on the disk: volumes, logs, writable layers. Who writes there is not trusted: no link is
// followed, and memory does not grow with the entries of a directory.
package diskusage
