module example.com/workflows

go 1.26.0

require github.com/perdure/perdure v0.0.0

replace github.com/perdure/perdure => ../../../..
