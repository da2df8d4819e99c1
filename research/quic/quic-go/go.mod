module stack

go 1.25.0

require github.com/quic-go/quic-go v0.65.0
