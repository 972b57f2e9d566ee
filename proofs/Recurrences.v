(** The checker's recurrences, and what they fail by (`gains` in tools/check_certificate.py).

    Any values at the nodes would do; these are good ones, and each lies between 0 and 1, which the checker rests on without
    looking: every new value is a mean, with weights, of values that do, rounded up to a whole part. *)

From Coq Require Import Reals Lra Psatz List Lia Arith ZArith.
From Duotone Require Import Step Graph Clock Game CloseCalls Nodes Gains.
Open Scope R_scope.

Section Recurrences.
Variables (m one : Z) (n k : nat).
Hypothesis m_positive : (0 < m)%Z.
Hypothesis one_positive : (0 < one)%Z.
Hypothesis reach : (k <= n)%nat.

Notation G := (g (IZR m)).
Notation r := (r m one k).
Notation more := (more m one k).
Notation falling := (falling m).
Notation rising := (rising m).
Notation above_nodes := (above_nodes m one n).
Notation slopes := (slopes m).
Notation checked := (checked m one n k).
Notation within_one := (within_one one n).

(** The next function, as the checker makes it: upwards from the turn (1) is an equation with the left slope, below it (2) with
    the right slope. *)
Section New.
Variables (turn : nat) (u : nat -> Z).

Definition nearer := (more * m)%Z.
Definition farther := (more * (m + 1))%Z.
Definition whole := (r + nearer)%Z.

Definition at_turn :=
  up_div (whole * r * above_nodes u (turn + k) + nearer * one * u (turn - 1 - k)%nat) (whole * whole - nearer * farther).
Fixpoint upwards i := match i with
  | O => at_turn
  | S i => up_div (r * above_nodes u (turn + S i + k) + nearer * upwards i) whole
  end.
Fixpoint downwards i := match i with
  | O => up_div (one * u (turn - 1 - k)%nat + farther * at_turn) whole
  | S i => up_div (one * u (turn - 1 - S i - k)%nat + farther * downwards i) whole
  end.
Definition new j := if le_dec turn j then upwards (j - turn) else downwards (turn - 1 - j).

Hypothesis Hu : within_one u.
Hypothesis Ht : (1 <= turn <= n)%nat.

Lemma more_least : (0 <= more)%Z.
Proof.
  pose proof (IZR_lt _ _ one_positive). unfold Gains.more. enough (one <= r)%Z by lia. apply le_IZR.
  pose proof (r_real m one n k m_positive reach). pose proof (jump_least (IZR m) k (IZR_lt _ _ m_positive)).
  assert (1 * IZR one <= G ^ k * IZR one) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma falling_most a i : (0 <= a)%Z -> (falling a i <= a)%Z.
Proof.
  intros H; induction i as [|i IH]; simpl; [lia|]. pose proof (falling_least m m_positive a i H).
  apply Z.le_trans with (falling a i); [|assumption]. apply Z.div_le_upper_bound; nia.
Qed.

Lemma above_within j : (0 <= above_nodes u j <= one)%Z.
Proof.
  unfold Gains.above_nodes; destruct le_dec as [L | L]; [apply Hu, L|]. pose proof (Hu n (le_n _)).
  pose proof (falling_least m m_positive (one - u n) (j - n) ltac:(lia)).
  pose proof (falling_most (one - u n) (j - n) ltac:(lia)). lia.
Qed.

Lemma at_turn_within : (0 <= at_turn <= one)%Z.
Proof.
  pose proof more_least as Hm. assert (E : (whole * whole - nearer * farther = whole * r + nearer * one)%Z)
    by (unfold whole, nearer, farther, Gains.more; ring).
  assert (0 <= nearer)%Z by (unfold nearer; nia). assert (0 < r)%Z by (unfold Gains.more in Hm; lia).
  assert (0 < whole)%Z by (unfold whole; lia).
  unfold at_turn; rewrite E. pose proof (above_within (turn + k)) as A. pose proof (Hu (turn - 1 - k)%nat ltac:(lia)) as B.
  set (a := above_nodes u _) in *. set (b := u _) in *. clearbody a b.
  assert (0 < whole * r)%Z by nia. assert (0 <= nearer * one)%Z by nia. clear E.
  apply up_between; [nia|]. split; nia.
Qed.

Lemma mixed a b c d : (0 <= a <= one -> 0 <= b <= one -> 0 <= c -> 0 <= d -> 0 < c + d ->
  0 <= up_div (c * a + d * b) (c + d) <= one)%Z.
Proof. intros; apply up_between; nia. Qed.

Theorem new_within : within_one new.
Proof.
  pose proof more_least as Hm. assert (0 <= nearer /\ 0 <= farther)%Z as [? ?] by (unfold nearer, farther; nia).
  assert (0 < r)%Z by (unfold Gains.more in Hm; lia).
  assert (E : whole = (one + farther)%Z) by (unfold whole, nearer, farther, Gains.more; ring).
  assert (Up : forall i, (0 <= upwards i <= one)%Z).
  { induction i; simpl; [apply at_turn_within | unfold whole; apply mixed; auto using above_within; lia]. }
  assert (Down : forall i, (0 <= downwards i <= one)%Z).
  { induction i; simpl; rewrite E; apply mixed; auto using at_turn_within; try (apply Hu); lia. }
  intros j _; unfold new; destruct le_dec; auto.
Qed.

End New.

(** What the inequalities fail by, at most. The checker also takes the outer slopes of the outermost nodes: it
    may pay more. *)
Definition fails (u v : nat -> Z) := fold_right Z.max 0%Z (
  flat_map (fun j =>
    map (fun i => up_div (r * above_nodes u (i + k) - one * v i - more * slopes v j) one) (j :: S j :: nil)) (seq 0 n)
  ++ flat_map (fun j =>
    map (fun i => up_div (one * u (i - k)%nat - r * v i + more * slopes v j) one) (j :: S j :: nil)) (seq 0 n)
  ++ map (fun j => (u j - v j)%Z) (seq 0 (S n)) ++ map (fun j => (u j - v O)%Z) (seq 0 (S k))
  ++ map (fun j => (rising (one - v n) (n - j) - (one - u j))%Z) (seq (n - k) (S k))).

Lemma fold_max l z : In z l -> (z <= fold_right Z.max 0 l)%Z.
Proof. induction l as [|z' l IH]; simpl; [intros [] | intros [-> | I]; [lia | specialize (IH I); lia]]. Qed.

Lemma up_within a e : (up_div a one <= e -> a <= e * one)%Z.
Proof.
  intros H; apply le_IZR. rewrite mult_IZR. pose proof (up_real a one one_positive). apply IZR_le in H.
  pose proof (IZR_lt _ _ one_positive).
  assert (IZR (up_div a one) * IZR one <= IZR e * IZR one) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Theorem fails_checked e u v : (fails u v <= e)%Z -> checked e u v.
Proof.
  intros L. assert (M : forall z, In z _ -> (z <= e)%Z) by (intros z I; eapply Z.le_trans; [apply fold_max, I | exact L]).
  split.
  - eapply Z.le_trans; [|exact L]. unfold fails. clear. induction (_ ++ _) as [|z l IH]; simpl; lia.
  - intros j i Hj Hi. apply up_within, M, in_or_app; left. apply in_flat_map; exists j; split; [apply in_seq; lia|].
    apply in_map_iff; exists i; split; [reflexivity|]. destruct Hi as [-> | ->]; simpl; auto.
  - intros j i Hj Hi. apply up_within, M, in_or_app; right; apply in_or_app; left.
    apply in_flat_map; exists j; split; [apply in_seq; lia|].
    apply in_map_iff; exists i; split; [reflexivity|]. destruct Hi as [-> | ->]; simpl; auto.
  - intros j Hj. apply M. do 2 (apply in_or_app; right). apply in_or_app; left.
    apply in_map_iff; exists j; split; auto. apply in_seq; lia.
  - intros j Hj. apply M. do 3 (apply in_or_app; right). apply in_or_app; left.
    apply in_map_iff; exists j; split; auto. apply in_seq; lia.
  - intros j Hj. apply M. do 4 (apply in_or_app; right). apply in_map_iff; exists j; split; auto. apply in_seq; lia.
Qed.

End Recurrences.
