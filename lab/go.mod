module github.com/perdure/perdure/lab

go 1.26.0

require (
	github.com/perdure/perdure v0.0.0
	pgregory.net/rapid v1.3.0
)

replace github.com/perdure/perdure => ../
