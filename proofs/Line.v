(** Definition 8: the (nB, nR)-line, and its distances. `families.line` in the code. *)

From Coq Require Import Reals Lra Lia Arith Bool.
From Duotone Require Import Step Graph Homogeneous.
Open Scope nat_scope.

(** Definition 8: the datasets 1, ..., nB + nR, of which the first nB are blue. The other natural numbers are datasets too,
    without neighbours: 0 is blue, those above nB + nR are red. They stand for components without a boundary. *)
Definition line (nB nR : nat) : graph.
Proof.
  refine {| dataset := nat; blue := fun i => i <=? nB;
            near := fun i j => (S i = j \/ S j = i) /\ 1 <= i <= nB + nR /\ 1 <= j <= nB + nR |}.
  intros i j; lia.
Defined.

Section Line.
Variables nB nR : nat.
Notation L := (line nB nR).

Lemma line_blue (i : L) : blue i = true <-> i <= nB.
Proof. apply Nat.leb_le. Qed.

Lemma line_red (i : L) : blue i = false <-> nB < i.
Proof. apply Nat.leb_gt. Qed.

Lemma line_blue_boundary (i : L) : blue_boundary i <-> i = nB /\ 1 <= nB /\ 1 <= nR.
Proof.
  split.
  - intros (C & j & E & D); apply line_blue in C; apply line_red in D; simpl in E; lia.
  - intros (-> & Hb & Hr); split; [apply line_blue; lia|]. exists (S nB : L); split; [simpl; lia | apply line_red; lia].
Qed.

Lemma line_red_boundary (i : L) : red_boundary i <-> i = S nB /\ 1 <= nB /\ 1 <= nR.
Proof.
  split.
  - intros (C & j & E & D); apply line_red in C; apply line_blue in D; simpl in E; lia.
  - intros (-> & Hb & Hr); split; [apply line_red; lia|]. exists (nB : L); split; [simpl; lia | apply line_blue; lia].
Qed.

(** Nobody comes far in few edges, and none leaves the line or enters it. *)
Lemma line_walk_least n (i j : L) : walk n i j -> i <= j + n /\ j <= i + n /\ (i = j \/ 1 <= i <= nB + nR /\ 1 <= j <= nB + nR).
Proof. induction 1 as [| n i j k W IH E]; [lia|]. simpl in E, k. lia. Qed.

Lemma line_walk_up n (i : L) : 1 <= i -> i + n <= nB + nR -> walk n i (i + n : L).
Proof.
  intros Hi; induction n as [| n IH]; intros Hn; [rewrite Nat.add_0_r; constructor|].
  apply (further n i (i + n : L)); [apply IH; lia | simpl in *; lia].
Qed.

Lemma line_away_blue (i : L) : 1 <= i <= nB -> 1 <= nR -> away blue_boundary (nB - i) i.
Proof.
  intros Hi Hr; split.
  - exists (nB : L); split; [apply line_blue_boundary; lia|]. apply walk_back.
    pose proof (line_walk_up (nB - i) i) as W. simpl in *. replace (i + (nB - i)) with nB in W by lia. apply W; lia.
  - intros n b Hb W; apply line_blue_boundary in Hb; apply line_walk_least in W. simpl in *; lia.
Qed.

Lemma line_away_red (i : L) : nB < i <= nB + nR -> 1 <= nB -> away red_boundary (i - S nB) i.
Proof.
  intros Hi Hb; split.
  - exists (S nB : L); split; [apply line_red_boundary; simpl in *; lia|].
    pose proof (line_walk_up (i - S nB) (S nB)) as W. simpl in *.
    replace (S (nB + (i - S nB))) with i in W by lia. apply W; lia.
  - intros n b H W; apply line_red_boundary in H; apply line_walk_least in W. simpl in *; lia.
Qed.

Lemma line_alone (i : L) : i = 0 \/ nB + nR < i -> forall b n, boundary (blue i) b -> ~ walk n b i.
Proof.
  intros Hi b n Hb W; pose proof (boundary_colour _ _ Hb) as C. apply line_walk_least in W.
  destruct (blue i); simpl in Hb; [apply line_blue_boundary in Hb | apply line_red_boundary in Hb]; simpl in *; lia.
Qed.

End Line.

(** What `ColouredGraph.distances` has to be: the distance to the boundary of a dataset's own colour, None for infinity. *)
Definition measures {G : graph} (distance : G -> option nat) :=
  forall a, match distance a with
            | Some k => away (boundary (blue a)) k a
            | None => forall b n, boundary (blue a) b -> ~ walk n b a
            end.

(** The line's own distances. *)
Definition line_distance nB nR (i : line nB nR) : option nat :=
  if (i =? 0) || (nB + nR <? i) || (nB =? 0) || (nR =? 0) then None else Some (if i <=? nB then nB - i else i - S nB).

Lemma line_measured nB nR : measures (line_distance nB nR).
Proof.
  intros i; unfold line_distance.
  destruct (Nat.eqb_spec i 0); [simpl; apply line_alone; simpl in *; lia|].
  destruct (Nat.ltb_spec (nB + nR) i); [simpl; apply line_alone; simpl in *; lia|].
  assert (none : nB = 0 \/ nR = 0 -> forall (b : line nB nR) m, boundary (i <=? nB) b -> ~ walk m b i).
  { intros Z b m Hb; destruct (i <=? nB); [apply line_blue_boundary in Hb | apply line_red_boundary in Hb]; simpl in *; lia. }
  destruct (Nat.eqb_spec nB 0), (Nat.eqb_spec nR 0); simpl; auto.
  destruct (Nat.leb_spec i nB); [apply line_away_blue | apply line_away_red]; simpl in *; lia.
Qed.
