module look

go 1.26
