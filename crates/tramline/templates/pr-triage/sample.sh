#!/bin/sh
# Makes a small repository with a branch to look at.
set -eu
rm -rf sample
git init --quiet --initial-branch=main sample
cd sample
git config user.email dev@example.com
git config user.name Dev
mkdir -p src/auth
echo 'pub fn login() {}' > src/auth/login.rs
git add . && git commit --quiet --message "First version"
git checkout --quiet -b change
echo 'pub fn logout() {}' >> src/auth/login.rs
echo 'notes' > NOTES.md
git add . && git commit --quiet --message "Add logout"
